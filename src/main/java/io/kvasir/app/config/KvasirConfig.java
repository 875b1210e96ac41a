package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.Discovery;
import io.kvasir.discovery.PodsReader;
import io.kvasir.engines.EngineAddress;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.gateway.admin.AdminKeys;
import io.kvasir.gateway.admin.PodDefaults;
import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.kubernetes.KubernetesConnection;
import io.kvasir.peer.PeerSettings;
import io.kvasir.picker.PickerSettings;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.scale.keda.KedaSettings;
import io.kvasir.scale.live.ScaleSettings;
import io.kvasir.telemetry.DecisionLogSettings;
import io.kvasir.telemetry.LogFileSettings;
import io.kvasir.tracing.TracingSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A node's configuration, without faults: an operator's file over the defaults of {@code conf/defaults}. It is data:
 * reading it opens nothing, and {@code app.node} builds what it describes. Immutable.
 *
 * @param gateway the listener for clients
 * @param prompts how prompts become tokens
 * @param routing how requests find their worker
 * @param execution how requests are sent to pods
 * @param fleet the pods, and the cells of their workers
 * @param cluster this node among the others
 * @param operations management, records of decisions, and the log
 * @param picker the listener for Kubernetes gateways that ask where a request should go, null without one
 * @param scaling how many workers models need, for autoscalers
 * @param source where all of it was read from
 */
public record KvasirConfig(
    GatewayConfig gateway,
    PromptConfig prompts,
    RoutingSettings routing,
    ExecutionConfig execution,
    FleetConfig fleet,
    ClusterConfig cluster,
    OperationsConfig operations,
    @Nullable PickerSettings picker,
    ScalingConfig scaling,
    Source source) {

  /**
   * The listener for clients.
   *
   * @param http its address and limits
   * @param tls its certificate, and the authority of client certificates; null for plain HTTP
   * @param access who may use it
   * @param usageInjection whether the usage of streams is requested of engines where the client does not ask for it
   * @param keepAlive silence after which a client's stream gets a keep-alive, null for none
   * @param drainDelay how long a stopping node still takes requests while not ready, null not at all
   * @param drainTimeout how long streams may go on when the node stops
   * @param forwarding what of a client's request reaches an engine
   * @param corsOrigins the origins whose pages may use the gateway, {@code *} for all
   * @param webSocketModel that of WebSockets whose request names none, null for any
   */
  public record GatewayConfig(
      HttpSettings http,
      @Nullable TlsFiles tls,
      AccessConfig access,
      boolean usageInjection,
      @Nullable Duration keepAlive,
      @Nullable Duration drainDelay,
      Duration drainTimeout,
      ForwardingSettings forwarding,
      Set<String> corsOrigins,
      @Nullable String webSocketModel) {}

  /**
   * How prompts become tokens.
   *
   * @param models the models with a tokenizer or settings of their own
   * @param learnt settings of models that engines serve and this configuration does not name; name, adapters, block
   *     size and files are the engines'
   * @param settings of all models together
   */
  public record PromptConfig(List<ModelConfig> models, ModelConfig learnt, PromptSettings settings) {}

  /**
   * How requests are sent to pods.
   *
   * @param requests attempts and their time limits
   * @param pods the connections to pods
   * @param tls for https pods: trusted authorities, and the router's own certificate; null for what the JVM trusts
   * @param answers the response cache, null without one
   */
  public record ExecutionConfig(
      ExecutionSettings requests,
      PodClient.Settings pods,
      @Nullable TlsFiles tls,
      @Nullable AnswerSettings answers) {}

  /**
   * The pods, and the cells of their workers.
   *
   * @param cell the cells
   * @param probeTimeout time limit of a health probe
   * @param pods the pods known from the start
   * @param podKeys the API keys that the router shows to pods
   * @param podDefaults what a pod added later may omit
   * @param podsReader reads lists of pods from other sources
   * @param discovery the sources of pods that are watched
   */
  public record FleetConfig(
      CellSettings cell,
      Duration probeTimeout,
      List<PodSpec> pods,
      PodKeys podKeys,
      PodDefaults podDefaults,
      PodsReader podsReader,
      Discovery.Settings discovery) {
    /**
     * An engine as it is asked what it is. Where the defaults say how pods hand KV blocks over, nothing is said of its
     * role, lest the usual way be assumed of an engine that does not tell its own.
     */
    public EngineAddress surveyAddress(EngineAddress engine) {
      return podDefaults.transfer() ? new EngineAddress(engine.url(), engine.grpcPort()) : engine;
    }
  }

  /**
   * This node among the others.
   *
   * @param discovery how nodes find each other
   * @param peers the addresses for decisions between nodes
   * @param partitionPolicy what a node does while it is cut off from the others
   */
  public record ClusterConfig(NodeDiscovery discovery, PeerSettings peers, PartitionPolicy partitionPolicy) {}

  /** How router nodes find each other. */
  public enum NodeDiscovery { SEEDS, DNS, KUBERNETES }

  /**
   * How many workers models need.
   *
   * @param advice what they are sized for
   * @param keda the listener for KEDA, null without one
   * @param fromZero how requests wait for the first worker of a model
   */
  public record ScalingConfig(ScaleSettings advice, @Nullable KedaSettings keda, FromZeroSettings fromZero) {}

  /**
   * What operators use.
   *
   * @param management the management port
   * @param warmUp what a node does before it is ready
   * @param decisions how decisions are recorded
   * @param audit the file of the audit log, null for the process's own log
   * @param accessLog the file of the access log, null for none
   * @param tracing which requests are traced, and where their spans go
   * @param log how the process logs
   */
  public record OperationsConfig(
      ManagementConfig management,
      WarmUpConfig warmUp,
      DecisionLogSettings decisions,
      @Nullable LogFileSettings audit,
      @Nullable LogFileSettings accessLog,
      TracingSettings tracing,
      LogConfig log) {}

  /**
   * The management port.
   *
   * @param host the address to listen on
   * @param port 0 for any that is free
   * @param tls its certificate, and the authority of client certificates; null for plain HTTP
   * @param keys who may use {@code /admin}
   * @param llmdMetrics whether scrapers read metrics by the names of llm-d's picker, too
   * @param metricsReviewer the Kubernetes API that says who may read {@code /metrics}; null: everybody may
   */
  public record ManagementConfig(
      String host,
      int port,
      @Nullable TlsFiles tls,
      AdminKeys keys,
      boolean llmdMetrics,
      @Nullable KubernetesConnection metricsReviewer) {
    /** Whether other machines can reach it. */
    public boolean isReachable() {
      return !LoopbackHosts.contain(host);
    }
  }

  /**
   * The requests that a node sends itself before it is ready.
   *
   * @param limit they end after this
   */
  public record WarmUpConfig(boolean enabled, Duration limit) {}

  /** How the process logs. */
  public record LogConfig(LogFormat format, LogLevel level) {}

  /** The readers of logs: people, or machines. */
  public enum LogFormat { TEXT, JSON }

  /** The least severe level that is logged. */
  public enum LogLevel { ERROR, WARN, INFO, DEBUG, TRACE }

  /**
   * Where a configuration was read from.
   *
   * @param platform every setting, resolved, those of the actor system included
   * @param file the operator's file, null when a command supplies the configuration
   */
  public record Source(Config platform, @Nullable OperatorFile file) {}

  /**
   * Reads an operator's file.
   *
   * @throws ConfigException with every fault
   */
  public static KvasirConfig load(Path file) throws ConfigException {
    return load(file, ConfigFactory.empty());
  }

  /**
   * Reads an operator's file, whose settings go before what a command gives.
   *
   * @throws ConfigException with every fault
   */
  public static KvasirConfig load(Path file, Config given) throws ConfigException {
    FileReading read = ConfigFiles.load(file, given);
    return read(read.config(), new OperatorFile(file, given, read.fingerprints(), read.missing()));
  }

  /**
   * Reads what a command configures.
   *
   * @throws ConfigException with every fault
   */
  public static KvasirConfig of(Config own) throws ConfigException {
    return read(ConfigFiles.withDefaults(own), null);
  }

  /**
   * Reads what a command configures, over the defaults alone: variables of the environment change nothing.
   *
   * @throws ConfigException with every fault
   */
  public static KvasirConfig withoutEnvironment(Config own) throws ConfigException {
    return read(ConfigFiles.withoutEnvironment(own), null);
  }

  private static KvasirConfig read(Config whole, @Nullable OperatorFile file) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    KvasirConfig read = new KvasirConfigReader(whole, file, faults).read();
    if (!faults.isEmpty()) {
      throw new ConfigException(faults.stream().distinct().toList());
    }
    return read;
  }
}
