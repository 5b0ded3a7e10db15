import faiss

from qa_pipeline.retrieval.shard import build_index, dump_shard
from qa_pipeline_tests.vectors import clustered_vectors, embeddings


def test_links_find_nearly_all_of_what_comparing_finds() -> None:
    vectors = clustered_vectors(6000)
    asked = clustered_vectors(200, seed=50)
    found, exact = (build_index(embeddings(vectors), size).search(asked, 10)[1] for size in (1, 10_000))
    assert (found >= exact[:, -1:] - 1e-6).mean() >= 0.95


def test_the_same_vectors_give_the_same_bytes_with_any_number_of_threads() -> None:
    frame = embeddings(clustered_vectors(3000))
    threads = faiss.omp_get_max_threads()
    contents = []
    try:
        for number in (1, 2, 4):
            faiss.omp_set_num_threads(number)
            contents.append(dump_shard(build_index(frame, 1)))
    finally:
        faiss.omp_set_num_threads(threads)
    assert contents[0] == contents[1] == contents[2]
