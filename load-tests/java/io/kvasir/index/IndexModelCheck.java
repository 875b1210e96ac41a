package io.kvasir.index;

/**
 * Model checking of the index with Lincheck, at length: every model's own scenarios and random ones.
 *
 * <pre>
 *   load-tests/with-jdk -XX:+EnableDynamicAgentLoading io.kvasir.index.IndexModelCheck \
 *     [random scenarios per model, 50] [interleavings of each, 20000] \
 *     [REUSE | TABLE | FORK | CROSSING | RENEWAL | MOVE]
 * </pre>
 *
 * <p>An interleaving takes about a millisecond on an idle machine; threads hand over to each other by spinning,
 * so beside other work it takes ten. Ends with a stack trace, and the interleaving, when one is wrong.
 */
public final class IndexModelCheck {
  private IndexModelCheck() {}

  public static void main(String[] args) {
    int random = args.length > 0 ? Integer.parseInt(args[0]) : 50;
    int interleavings = args.length > 1 ? Integer.parseInt(args[1]) : 20_000;
    for (IndexModel.Kind model : IndexModel.Kind.values()) {
      if (args.length < 3 || model.name().equals(args[2])) {
        long start = System.nanoTime();
        model.check(random, interleavings);
        System.out.printf("%-9s no fault found, %d s%n", model, (System.nanoTime() - start) / 1_000_000_000L);
      }
    }
  }
}
