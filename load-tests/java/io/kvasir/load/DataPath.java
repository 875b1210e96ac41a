package io.kvasir.load;

import io.kvasir.load.DataPathProbe.CpuClock;
import io.kvasir.load.DataPathProbe.Figures;
import io.kvasir.load.DataPathRouter.Client;
import io.kvasir.load.DataPathRouter.RelayPath;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Compares ways to build the data path: {@code load-tests/datapath [--scale F] [CLIENT/WAY ...]}. Each runs in a JVM of
 * its own between the same engine and the same load, warmed up for at least 20 s; baseline is direct access to the
 * engine. Everything shares the machine's cores, so only figures of one run compare.
 */
final class DataPath {
  private static final Path OUT = Path.of("load-tests", "out");

  private record Variant(Client client, RelayPath relay) {
    static Variant parse(String text) {
      String[] parts = text.toUpperCase(Locale.ROOT).split("/", 2);
      return new Variant(Client.valueOf(parts[0]), RelayPath.valueOf(parts[1]));
    }

    @Override
    public String toString() {
      return (client + "/" + relay).toLowerCase(Locale.ROOT);
    }
  }

  private DataPath() {}

  public static void main(String[] arguments) throws Exception {
    double scale = 1;
    List<Variant> variants = new ArrayList<>();
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i].equals("--scale")) {
        scale = Double.parseDouble(arguments[++i]);
      } else {
        variants.add(Variant.parse(arguments[i]));
      }
    }
    if (variants.isEmpty()) {
      for (Client client : Client.values()) {
        variants.add(new Variant(client, RelayPath.DIRECT));
      }
      variants.add(new Variant(Client.SOCKETS, RelayPath.STREAM));
      variants.add(new Variant(Client.SOCKETS, RelayPath.COALESCING));
      variants.add(new Variant(Client.SOCKETS, RelayPath.PEKKO_SERVER));
    }
    List<Figures> all = new ArrayList<>();
    try (ChildProcess engines =
            ChildProcess.java(
                "engines", OUT.resolve("engines.log"), List.of("-Xmx256m"), FakeEngines.class, "fake", "20", "0");
        LoadGenerator.Remote load = new LoadGenerator.Remote(OUT.resolve("load.log"))) {
      int engine = Integer.parseInt(engines.awaitLine("ports "));
      DataPathProbe probe = new DataPathProbe(load, "fake", scale);
      all.add(probe.measure("direct", engine, CpuClock.NONE));
      for (Variant variant : variants) {
        try (ChildProcess router =
            ChildProcess.java(
                variant.toString(),
                OUT.resolve(variant.toString().replace('/', '-') + ".log"),
                List.of("-Xmx512m"),
                DataPathRouter.class,
                variant.client().name(),
                variant.relay().name(),
                String.valueOf(engine))) {
          int port = Integer.parseInt(router.awaitLine("port "));
          all.add(probe.measure(variant.toString(), port, CpuClock.of(router)));
        }
      }
    }
    print(all);
    System.exit(0);
  }

  private static void print(List<Figures> all) {
    Figures direct = all.getFirst();
    System.out.printf("%-22s %s%n", "upstream/relay", Figures.COLUMNS);
    all.forEach(each -> System.out.printf("%-22s %s%n", each.name(), each.beside(direct)));
  }
}
