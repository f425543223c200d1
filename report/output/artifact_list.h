/* One line per artifact, in the order --help lists them.  No include guard:
   the includer defines ARTIFACT(id) first. */
ARTIFACT(flamegraph)      /* tree -> VIEW.flamegraph.svg */
ARTIFACT(folded)          /* tree -> VIEW.folded */
ARTIFACT(tree)            /* tree -> VIEW.tree.txt */
ARTIFACT(allocations)     /* table -> VIEW.allocations.json */
ARTIFACT(allocations_csv) /* table -> VIEW.allocations.csv */
ARTIFACT(groups)          /* table -> VIEW.groups.json */
ARTIFACT(groups_csv)      /* table -> VIEW.groups.csv */
ARTIFACT(timeline)        /* series -> VIEW.timeline.svg, timeline.svg */
ARTIFACT(timeline_json)   /* series -> VIEW.timeline.json, timeline.json */
ARTIFACT(sizes)           /* table -> VIEW.sizes.svg */
ARTIFACT(sizes_json)      /* table -> VIEW.sizes.json */
ARTIFACT(lifetimes)       /* table -> VIEW.lifetimes.svg */
ARTIFACT(lifetimes_json)  /* table -> VIEW.lifetimes.json */
ARTIFACT(heaptrack)       /* history -> VIEW.heaptrack.zst */
ARTIFACT(summary)         /* group -> summary.json */
ARTIFACT(mmaps)           /* table -> mmaps.json */
ARTIFACT(mallopts)        /* table -> mallopts.json */
ARTIFACT(threads)         /* table -> threads.json */
ARTIFACT(modules)         /* table -> modules.json */
ARTIFACT(markers)         /* table -> markers.json */
ARTIFACT(residency)       /* series -> residency.svg */
ARTIFACT(mappings)        /* table -> mappings.json */
