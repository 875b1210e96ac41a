package io.kvasir.app.config;

import com.typesafe.config.Config;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.app.config.KvasirConfig.ExecutionConfig;
import io.kvasir.app.config.KvasirConfig.FleetConfig;
import io.kvasir.app.config.KvasirConfig.GatewayConfig;
import io.kvasir.app.config.KvasirConfig.LogConfig;
import io.kvasir.app.config.KvasirConfig.LogFormat;
import io.kvasir.app.config.KvasirConfig.LogLevel;
import io.kvasir.app.config.KvasirConfig.OperationsConfig;
import io.kvasir.app.config.KvasirConfig.PromptConfig;
import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.app.config.KvasirConfig.Source;
import io.kvasir.app.config.KvasirConfig.WarmUpConfig;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.PodSpec;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.peer.PeerSettings;
import io.kvasir.picker.PickerSettings;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.telemetry.LogFileSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads a node's configuration section by section and collects every fault, so that all are reported together. The
 * result is usable only without faults.
 */
final class KvasirConfigReader {
  /** How a model's prompts become tokens, as the configuration spells it. */
  private enum ModelMode {
    EXACT(PromptMode.EXACT),
    ENGINE(PromptMode.ENGINE),
    TEXT(PromptMode.TEXT);

    private final PromptMode mode;

    ModelMode(PromptMode mode) {
      this.mode = mode;
    }
  }

  /** A hash as messages between nodes have it, in CBOR. */
  private static final int HASH_BYTES = 9;

  /** What else a message between nodes may have, generously. */
  private static final int OTHER_PARTS_BYTES = 1 << 20;

  private static final int MAX_PEER_MESSAGE = 1 << 28;

  private static final Pattern ORIGIN = Pattern.compile("[a-z][a-z0-9+.-]*://[^/?#@\\s]+");

  private final Config config;
  private final @Nullable OperatorFile file;
  private final List<ConfigFault> faults;
  private final ConfigSection root;
  private final long heap = Runtime.getRuntime().maxMemory();

  KvasirConfigReader(Config config, @Nullable OperatorFile file, List<ConfigFault> faults) {
    this.config = config;
    this.file = file;
    this.faults = faults;
    this.root = new ConfigSection(config.getConfig("kvasir"), "kvasir", faults);
  }

  KvasirConfig read() {
    AccessConfig access =
        new AccessReader(root.section("access")).read(LimitSettingsReader.read(root.section("limits")));
    GatewayConfig gateway = gateway(root.section("gateway"), access);
    ConfigSection management = root.section("management");
    root.section("routing");
    RoutingSettings routing = new RoutingReader(config, faults).read(LmCacheReader.read(root.section("lmcache")));
    PromptConfig prompts = prompts();
    DiscoveryReader discovery = new DiscoveryReader(root.section("pods-from"));
    ExecutionConfig execution = execution();
    PickerSettings picker = PickerReader.read(root.section("picker"), heap);
    MemoryPlan memory =
        new MemoryPlan(
            heap, MemoryPlan.requests(gateway, picker), prompts.settings().memoBytes(),
            MemoryPlan.answers(execution.answers()), 1, 0);
    ScalingConfig scaling = ScaleReader.read(root.section("scale"));
    FleetConfig fleet = fleet(root.section("cell"), prompts.models(), discovery, memory, scaling.fromZero());
    OperationsConfig operations =
        new OperationsConfig(
            ManagementReader.read(management, discovery::connection),
            warmUp(root.section("warm-up")),
            DecisionLogReader.read(root.section("decisions")),
            logFile("audit"),
            logFile("access-log"),
            TracingReader.read(root.section("tracing")),
            log(root.section("log")));
    management.rejectUnread();
    ConfigSection cluster = root.section("cluster");
    ClusterReader clusterReader =
        new ClusterReader(config, cluster, operations.management(), maxPeerMessage(gateway, prompts));
    cluster.rejectUnread();
    listenerPorts(gateway, operations, clusterReader, picker, scaling);
    root.rejectUnread();
    return new KvasirConfig(
        gateway,
        prompts,
        routing,
        execution,
        fleet,
        clusterReader.settings(),
        operations,
        picker,
        scaling,
        new Source(discovery.roles(clusterReader.platform()), file));
  }

  /** The cluster's own ports are compared with each other where they are read. */
  private void listenerPorts(
      GatewayConfig gateway, OperationsConfig operations, ClusterReader cluster, @Nullable PickerSettings picker,
      ScalingConfig scaling) {
    ListenerPorts ports = new ListenerPorts();
    ports.add(root.section("gateway"), "port", gateway.http().host(), gateway.http().port());
    ports.add(root.section("management"), "port", operations.management().host(), operations.management().port());
    PeerSettings lines = cluster.settings().peers();
    int remoting = cluster.platform().getInt("pekko.remote.artery.canonical.port");
    ports.add(root.section("cluster"), "port", lines.host(), remoting);
    if (lines.port() != remoting) {
      ports.add(root.section("cluster"), "line-port", lines.host(), lines.port());
    }
    if (picker != null) {
      ports.add(root.section("picker"), "port", picker.listener().host(), picker.listener().port());
      ports.add(root.section("picker"), "health-port", picker.listener().host(), picker.listener().healthPort());
    }
    if (scaling.keda() != null) {
      ports.add(root.section("scale").section("keda"), "port", scaling.keda().host(), scaling.keda().port());
    }
  }

  private GatewayConfig gateway(ConfigSection gateway, AccessConfig access) {
    long body = gateway.bytes("max-body");
    if (body > 1L << 30) {
      gateway.fault("max-body", "has to be at most 1 GiB: a body is read into memory whole");
    }
    HttpSettings http =
        new HttpSettings(
            host(gateway, access),
            gateway.count("port", 0, 65_535),
            gateway.count("max-connections", 1, 1_000_000),
            gateway.count("max-connections-per-address", 1, 1_000_000),
            (int) Math.min(body, 1 << 30),
            (long) (gateway.number("memory-share", 0.01, 0.9) * heap),
            new HttpSettings.Timeouts(
                gateway.duration("head-timeout"),
                gateway.duration("body-timeout"),
                gateway.duration("idle-timeout"),
                gateway.duration("write-timeout"),
                gateway.duration("stall-timeout"),
                minRate(gateway)),
            null);
    GatewayConfig read =
        new GatewayConfig(
            http,
            TlsFilesReader.listener(gateway.section("tls")),
            access,
            gateway.flag("usage-injection"),
            gateway.durationOrOff("keep-alive"),
            gateway.durationOrOff("drain-delay"),
            gateway.duration("drain-timeout"),
            ForwardingReader.read(gateway, access.hasKeys()),
            corsOrigins(gateway),
            webSocketModel(gateway));
    gateway.rejectUnread();
    return read;
  }

  private static @Nullable String webSocketModel(ConfigSection gateway) {
    String model = gateway.text("websocket-model");
    return model.isBlank() ? null : model;
  }

  private static Set<String> corsOrigins(ConfigSection gateway) {
    List<String> origins = gateway.texts("cors-origins");
    for (String origin : origins) {
      if (!origin.equals("*") && !ORIGIN.matcher(origin).matches()) {
        gateway.fault(
            "cors-origins", "'" + origin + "' is no origin such as https://chat.example or http://localhost:3000");
      }
    }
    return Set.copyOf(origins);
  }

  /** The address to listen on. Without keys it has to be this machine's own, unless the operator wants otherwise. */
  private static String host(ConfigSection gateway, AccessConfig access) {
    String host = gateway.name("host");
    boolean reachable = access.hasKeys() || access.open();
    if (host.equals("auto")) {
      return reachable ? "0.0.0.0" : "127.0.0.1";
    }
    if (!reachable && !LoopbackHosts.contain(host)) {
      gateway.fault(
          "host",
          "can be reached from other machines, and there is no key: anybody could use the engines. Make one with"
              + " \"kvasir keys create\" and name its file in kvasir.access.keys-file; or set"
              + " kvasir.access.open = true, behind a proxy that checks who comes; or leave host out, for this machine"
              + " only");
    }
    return host;
  }

  /** A message between nodes has a hash for each block of a prompt, whose tokens are no more than its body's bytes. */
  private int maxPeerMessage(GatewayConfig gateway, PromptConfig prompts) {
    int blockSize =
        prompts.models().stream()
            .mapToInt(ModelConfig::blockSize)
            .reduce(config.getInt("kvasir.model-defaults.block-size"), Math::min);
    long hashes = (long) HASH_BYTES * gateway.http().maxBodyBytes() / Math.max(1, blockSize);
    return (int) Math.min(hashes + OTHER_PARTS_BYTES, MAX_PEER_MESSAGE);
  }

  private static int minRate(ConfigSection gateway) {
    long rate = gateway.bytes("min-rate");
    if (rate < 1 || rate > 1L << 30) {
      gateway.fault("min-rate", "has to be from 1 byte to 1 GiB, a second");
    }
    return (int) Math.clamp(rate, 1, 1L << 30);
  }

  private PromptConfig prompts() {
    ConfigSection prompt = root.section("prompt");
    int preparations = prompt.count("preparations", 0, 10_000);
    PromptSettings settings =
        new PromptSettings(
            prompt.bytesOrAuto("memo").orElse(MemoryPlan.prompts(heap)),
            preparations == 0 ? PromptSettings.processorsButOne() : preparations,
            prompt.duration("preparation-wait"));
    PromptConfig read = new PromptConfig(models(), learntModel(), settings);
    prompt.rejectUnread();
    return read;
  }

  private FleetConfig fleet(
      ConfigSection cell, List<ModelConfig> models, DiscoveryReader discovery, MemoryPlan memory,
      FromZeroSettings fromZero) {
    PodListReader pods = new PodListReader(config, root, blockSizes(models));
    List<PodSpec> configured = pods.configured();
    AdmissionSettings admission = AdmissionReader.read(root.section("admission"));
    CellSettings cells =
        CellSettingsReader.read(
            cell,
            ProgramSettingsReader.read(root.section("programs"), admission.on()),
            admission,
            fromZero,
            maxWorkers -> memory.withCellsOf(configured, models, maxWorkers).automaticIndex());
    MemoryPlan plan =
        memory.withCellsOf(configured, models, cells.index().maxWorkers()).withIndex(cells.index().budgetBytes());
    if (!plan.fits()) {
      cell.fault("index-budget", plan.shortage());
    }
    return new FleetConfig(
        cells,
        CellSettingsReader.probeTimeout(cell),
        configured,
        pods.keys(),
        pods.defaults(),
        pods::listed,
        discovery.settings().with(pods.bare()));
  }

  private ExecutionConfig execution() {
    ConfigSection execution = root.section("execution");
    ExecutionConfig read =
        new ExecutionConfig(
            requests(execution),
            podClient(execution),
            TlsFilesReader.client(execution.section("tls")),
            AnswerSettingsReader.read(root.section("answers")));
    execution.rejectUnread();
    return read;
  }

  private @Nullable LogFileSettings logFile(String name) {
    ConfigSection section = root.section(name);
    LogFileSettings read = LogFileReader.read(section, name + ".jsonl");
    section.rejectUnread();
    return read;
  }

  private static WarmUpConfig warmUp(ConfigSection warmUp) {
    WarmUpConfig read = new WarmUpConfig(warmUp.flag("enabled"), warmUp.duration("limit"));
    warmUp.rejectUnread();
    return read;
  }

  private static LogConfig log(ConfigSection log) {
    LogConfig read = new LogConfig(log.choice("format", LogFormat.class), log.choice("level", LogLevel.class));
    log.rejectUnread();
    return read;
  }

  private static ExecutionSettings requests(ConfigSection execution) {
    ConfigSection retry = execution.section("retry");
    ExecutionSettings.Retries retries =
        new ExecutionSettings.Retries(
            execution.count("max-attempts", 1, 100),
            execution.duration("backoff"),
            execution.duration("backoff-max"),
            1.5,
            retry.number("share", 0, 100),
            retry.count("per-second", 0, 1_000_000));
    retry.rejectUnread();
    Duration hedgeAfter = execution.duration("hedge-after");
    return new ExecutionSettings(
        retries,
        execution.duration("first-byte-timeout"),
        execution.duration("idle-timeout"),
        execution.durationOrOff("stranded-timeout"),
        execution.duration("total-timeout"),
        (int) Math.min(execution.bytes("whole-answer"), 1 << 28),
        execution.flag("hedge") ? hedgeAfter : null,
        execution.count("max-workflows", 1, 10_000_000),
        new ExecutionSettings.Disconnects(
            execution.count("max-disconnects", 1, 100), execution.durationOrOff("quarantine")),
        execution.duration("websocket-idle-timeout"));
  }

  private static PodClient.Settings podClient(ConfigSection execution) {
    return new PodClient.Settings(
        execution.duration("connect-timeout"),
        execution.duration("first-byte-timeout"),
        execution.duration("idle-timeout"),
        execution.duration("pool-idle"),
        execution.count("pool-size", 1, 100_000),
        null,
        PodKeys.NONE);
  }

  private List<ModelConfig> models() {
    Config defaults = config.getConfig("kvasir.model-defaults");
    root.section("model-defaults");
    List<ModelConfig> models = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ConfigSection section : root.sections("models", defaults)) {
      ModelConfig model = model(section);
      for (String name : names(model)) {
        if (!name.isEmpty() && !names.add(name)) {
          section.fault("name", "'" + name + "' is described twice; name each model and adapter once");
        }
      }
      models.add(model);
    }
    return models;
  }

  private ModelConfig learntModel() {
    ConfigSection section = root.section("model-defaults");
    return new ModelConfig(
        "",
        Set.of(),
        section.count("block-size", 1, 4096),
        PromptMode.ENGINE,
        ModelConfig.FileSources.NONE,
        section.values("template-kwargs"),
        section.share("parity-sample"),
        section.flag("request-templates"));
  }

  private static ModelConfig model(ConfigSection section) {
    ModelMode mode = section.choice("mode", ModelMode.class);
    String directory = section.text("directory");
    if (mode == ModelMode.EXACT && directory.isBlank()) {
      section.fault(
          "directory", "is needed to tokenise here: a Hugging Face directory; or set mode to engine or text");
    }
    ModelConfig model =
        new ModelConfig(
            section.name("name"),
            new LinkedHashSet<>(section.texts("loras")),
            section.count("block-size", 1, 4096),
            mode.mode,
            new ModelConfig.FileSources(
                emptyIsNone(directory),
                emptyIsNone(section.text("tokenizer")),
                emptyIsNone(section.text("chat-template"))),
            section.values("template-kwargs"),
            section.share("parity-sample"),
            section.flag("request-templates"));
    section.rejectUnread();
    return model;
  }

  private static @Nullable String emptyIsNone(String text) {
    return text.isBlank() ? null : text;
  }

  private static Set<String> names(ModelConfig model) {
    Set<String> names = new LinkedHashSet<>(model.adapters());
    names.add(model.name());
    return names;
  }

  /** Tokens in a KV block of a model, by its name or that of an adapter. */
  private ToIntFunction<String> blockSizes(List<ModelConfig> models) {
    Map<String, Integer> blockSizes = new HashMap<>();
    models.forEach(model -> names(model).forEach(name -> blockSizes.put(name, model.blockSize())));
    int other = config.getInt("kvasir.model-defaults.block-size");
    return model -> blockSizes.getOrDefault(model, other);
  }
}
