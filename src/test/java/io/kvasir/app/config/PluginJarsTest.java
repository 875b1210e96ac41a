package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.example.geo.GeoPlugins;
import io.kvasir.app.node.HttpProbe;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Explanation;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.InvalidRoutingHintException;
import io.kvasir.routing.PluginProvider;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.PluginType;
import io.kvasir.routing.Profile;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.assertj.core.api.Assertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Plugins of one's own: the worked example through the real path, and jars that are wrong in every way. */
final class PluginJarsTest {
  private static final List<String> GEO =
      List.of("GeoPlugins", "ClientCoordinates", "Proximity", "Coordinates").stream()
          .map(name -> "com.example.geo." + name)
          .toList();

  @TempDir private Path directory = Path.of("");

  /** The four steps of conf/README.md: classes, a file that names the provider, a jar of both, the jar on the path. */
  @Test
  void example_sendsRequestsToTheNearestWorker() throws Exception {
    jar("geo.jar", GeoPlugins.class.getName(), classes(GEO));
    KvasirConfig config = load(
        """
        kvasir.routing {
          plugin-path = ["%s"]
          profile = nearest
          profiles.nearest {
            prepare = [ tokenize, block-hash, client-coordinates ]
            filter = [ role, model, excluded ]
            score = proximity
            pick = max-score
            execute = forward
          }
        }
        """.formatted(directory));
    try (PluginJars jars = new PluginJars(config.routing().pluginPath())) {
      assertThat(jars.plugins()).extracting(brought -> brought.type().name())
          .containsExactly("client-coordinates", "proximity");
      PluginRegistry plugins = jars.addTo(BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths()));
      Profile nearest =
          Objects.requireNonNull(
              RoutingReader.reloadable(config.source().platform(), plugins).profiles().named("nearest"));

      assertThat(distances(nearest, "59.33,18.07")).containsExactly(0L, 396L, 6320L, Long.MAX_VALUE);
      assertThat(distances(nearest, null)).containsOnly(0L);
      Assertions.assertThatThrownBy(() -> nearest.prepare(arrived("north pole")))
          .hasSameClassAs(new InvalidRoutingHintException(""))
          .hasMessageContaining("X-Client-Coordinates");
    }
  }

  @Test
  void load_jarsThatAreWrong_areAllReportedAtOnce() throws Exception {
    String provider = GeoPlugins.class.getName();
    byte[] newer = bytes(provider);
    newer[7] = 99;
    byte[] damaged = Arrays.copyOf(bytes(provider), 100);
    Files.writeString(directory.resolve("a-text.jar"), "hello");
    jar("b-nobody.jar", null, classes(GEO));
    jar("c-misspelt.jar", "com.example.geo.Plugins", classes(GEO));
    jar("d-newer.jar", provider, Map.of(provider, newer));
    jar("e-damaged.jar", provider, Map.of(provider, damaged));
    jar("f-throws.jar", Throws.class.getName(), classes(List.of(Throws.class.getName())));
    jar("g-lacks.jar", Lacks.class.getName(), classes(List.of(Lacks.class.getName())));
    jar("h-taken.jar", Taken.class.getName(), classes(List.of(Taken.class.getName(), TheWorst.class.getName())));
    jar("i-name.jar", Misnamed.class.getName(), classes(List.of(Misnamed.class.getName(), TheWorst.class.getName())));
    jar("j-noprovider.jar", TheWorst.class.getName(), classes(List.of(TheWorst.class.getName())));

    List<ConfigFault> faults =
        faults("kvasir.routing.plugin-path = [\"%s\", \"%s/none.jar\"]".formatted(directory, directory));

    assertThat(faults).allMatch(fault -> fault.path().equals("kvasir.routing.plugin-path"));
    assertThat(faults).extracting(fault -> Path.of(fault.place().file()).getFileName() + ": " + fault.problem())
        .satisfiesExactlyInAnyOrder(
            told -> assertThat(told).startsWith("a-text.jar: is no jar, or a damaged one"),
            told -> assertThat(told).startsWith("b-nobody.jar: names no plugins").contains("META-INF/services/"),
            told -> assertThat(told).startsWith("c-misspelt.jar: ").contains("com.example.geo.Plugins"),
            told -> assertThat(told).startsWith("d-newer.jar: was compiled for a newer Java").contains("--release 25"),
            told -> assertThat(told).startsWith("e-damaged.jar: has a damaged class"),
            told -> assertThat(told).startsWith("f-throws.jar: its provider failed").contains("out of coffee"),
            told -> assertThat(told).startsWith("g-lacks.jar: needs the class io.kvasir.app.node.HttpProbe"),
            told -> assertThat(told).startsWith("h-taken.jar: ").contains("\"least-load\""),
            told -> assertThat(told).startsWith("i-name.jar: ").contains("not \"The Worst\""),
            told -> assertThat(told).startsWith("j-noprovider.jar: its provider cannot be used").contains("TheWorst"),
            told -> assertThat(told).startsWith("none.jar: there is no such jar or directory"));
  }

  /** A configuration is data: the proof of its profiles leaves no jar open. */
  @Test
  void load_closesTheJarsItOpened() throws Exception {
    Path jar = directory.resolve("geo.jar");
    jar("geo.jar", GeoPlugins.class.getName(), classes(GEO));

    load("kvasir.routing.plugin-path = [\"%s\"]".formatted(jar));
    assertThat(faults("kvasir { routing.plugin-path = [\"%s\"], gateway.port = x }".formatted(jar))).hasSize(1);

    assertThat(openFiles()).isNotEmpty().doesNotContain(jar.toRealPath());
    try (PluginJars jars = new PluginJars(List.of(jar))) {
      assertThat(jars.plugins()).isNotEmpty();
      assertThat(openFiles()).contains(jar.toRealPath());
    }
  }

  @Test
  void load_pathFromTheEnvironment_isSplit() throws Exception {
    List<ConfigFault> faults = faults("kvasir.routing.plugin-path = \"/nowhere/a.jar:/nowhere/b.jar\"");

    assertThat(faults).extracting(fault -> fault.place().file()).containsExactly("/nowhere/a.jar", "/nowhere/b.jar");
  }

  @Test
  void load_emptyDirectory_bringsNothing() throws Exception {
    KvasirConfig config = load("kvasir.routing.plugin-path = [\"%s\"]".formatted(Files.createDirectory(
        directory.resolve("none"))));

    try (PluginJars jars = new PluginJars(config.routing().pluginPath())) {
      assertThat(jars.plugins()).isEmpty();
    }
  }

  /** Fails as soon as it is made. */
  public static final class Throws implements PluginProvider {
    public Throws() {
      throw new IllegalStateException("out of coffee");
    }

    @Override
    public Collection<PluginType<?>> plugins() {
      return List.of();
    }
  }

  /** Uses what plugins do not see. */
  public static final class Lacks implements PluginProvider {
    @Override
    public Collection<PluginType<?>> plugins() {
      Supplier<String> name = HttpProbe.class::getName;
      return List.of(PluginType.scorer(name.get(), _ -> new TheWorst()));
    }
  }

  /** Takes the name of a plugin of Kvasir's. */
  public static final class Taken implements PluginProvider {
    @Override
    public Collection<PluginType<?>> plugins() {
      return List.of(PluginType.scorer("least-load", _ -> new TheWorst()));
    }
  }

  /** Names its plugin as no profile could. */
  public static final class Misnamed implements PluginProvider {
    @Override
    public Collection<PluginType<?>> plugins() {
      return List.of(PluginType.scorer("The Worst", _ -> new TheWorst()));
    }
  }

  /** Says nothing of anybody. */
  public static final class TheWorst implements Scorer {
    @Override
    public void score(RoutingContext context, Candidates candidates, double[] out) {}

    @Override
    public Direction direction() {
      return Direction.LOWER;
    }
  }

  /** Kilometres to each worker as the profile's scorer has them. */
  private static List<Long> distances(Profile profile, @Nullable String coordinates) {
    RoutingContext context = arrived(coordinates);
    RoutingContext atHome =
        new RoutingContext("r", "m", Role.BOTH, Set.of()).put(Slots.CHAIN, Chain.EMPTY).put(Slots.PROMPT_TOKENS, 7);
    profile.prepare(context).restoreInto(atHome);
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    Selector selector =
        new Selector(profile, CostModel.bundled(), new SplittableRandom(1), metrics, System::nanoTime);
    return selector.explain(new Cities(), atHome).candidates().stream()
        .map(Explanation.Candidate::scores)
        .map(scores -> Math.round(scores.getFirst().raw()))
        .toList();
  }

  private static RoutingContext arrived(@Nullable String coordinates) {
    RequestFacts facts =
        TestFacts.of(coordinates == null ? Map.of() : Map.of("X-Client-Coordinates", coordinates));
    return new RoutingContext("r", "m", Role.BOTH, Set.of())
        .put(Slots.FACTS, facts)
        .put(Slots.CHAIN, Chain.EMPTY)
        .put(Slots.PROMPT_TOKENS, 7);
  }

  /** Files that this process holds open, as Linux lists them. */
  private static List<Path> openFiles() throws IOException {
    List<Path> open = new ArrayList<>();
    try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors) {
        try {
          open.add(descriptor.toRealPath());
        } catch (IOException closed) {
          // It was the listing's own, or a socket.
        }
      }
    }
    return open;
  }

  private KvasirConfig load(String text) throws Exception {
    return KvasirConfig.load(Files.writeString(directory.resolve("test.conf"), text));
  }

  private List<ConfigFault> faults(String text) {
    return catchThrowableOfType(ConfigException.class, () -> load(text)).faults();
  }

  private static Map<String, byte[]> classes(List<String> names) throws IOException {
    Map<String, byte[]> classes = new LinkedHashMap<>();
    for (String name : names) {
      classes.put(name, bytes(name));
    }
    return classes;
  }

  private static byte[] bytes(String name) throws IOException {
    try (InputStream in =
        Objects.requireNonNull(
            PluginJarsTest.class.getClassLoader().getResourceAsStream(name.replace('.', '/') + ".class"))) {
      return in.readAllBytes();
    }
  }

  private void jar(String file, @Nullable String provider, Map<String, byte[]> classes) throws IOException {
    try (OutputStream out = Files.newOutputStream(directory.resolve(file));
        JarOutputStream jar = new JarOutputStream(out)) {
      for (Map.Entry<String, byte[]> entry : classes.entrySet()) {
        jar.putNextEntry(new JarEntry(entry.getKey().replace('.', '/') + ".class"));
        jar.write(entry.getValue());
      }
      if (provider != null) {
        jar.putNextEntry(new JarEntry("META-INF/services/io.kvasir.routing.PluginProvider"));
        jar.write(provider.getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  /** Workers in Stockholm, Helsinki and New York, and one that nobody knows where. */
  private static final class Cities implements Fleet {
    private static final List<Map<String, String>> LABELS =
        List.of(
            Map.of("coordinates", "59.33,18.07"),
            Map.of("coordinates", "60.17,24.94"),
            Map.of("coordinates", "40.71,-74.01"),
            Map.of());

    private final Worker[] workers = new Worker[64];

    Cities() {
      for (int slot = 0; slot < LABELS.size(); slot++) {
        workers[slot] =
            new Worker(
                "w" + slot, "w" + slot, URI.create("http://127.0.0.1:9"), 0, 1, slot, Role.BOTH, Set.of("m"),
                LABELS.get(slot), 10, "h100-Qwen2.5-7B-tp1", null);
      }
    }

    @Override
    public int slots() {
      return workers.length;
    }

    @Override
    public void snapshot(Candidates candidates) {
      candidates.workers = workers;
      candidates.live[0] = 0b1111;
    }

    @Override
    public void search(Chain chain, Candidates candidates) {}

    @Override
    public void cancel(int slot, Booking booking) {}

    @Override
    public boolean reserve(int slot, Booking booking) {
      return false;
    }
  }
}
