from benchmarks.fuzz.search import main

main()
