/* One line per input format, in the order they are probed and --help lists
   them.  No include guard: the includer defines INPUT(id) first. */
INPUT(memprof)
