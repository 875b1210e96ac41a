package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigOrigin;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigResolveOptions;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.Discovery;
import io.kvasir.discovery.PodsReader;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.gateway.admin.AdminKeys;
import io.kvasir.gateway.admin.PodDefaults;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.lmcache.LmCache;
import io.kvasir.peer.PeerSettings;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.telemetry.DecisionLogSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A node's configuration, checked whole: an operator's file over the defaults of {@code conf/defaults} over
 * the platform's settings.
 *
 * @param gateway the front door
 * @param keepAlive after so long without an event a client's stream says something, null never
 * @param drainDelay how long a node that is to stop still takes requests, not ready any more; null not at all
 * @param drainTimeout how long streams may go on when the node stops
 * @param management where operators look
 * @param routing how requests find their worker
 * @param cell cells
 * @param probeTimeout of a health probe
 * @param execution carrying out requests
 * @param podClient the connections to pods
 * @param answers how answers are kept, null when they are not
 * @param models how prompts become tokens
 * @param memoBytes what remembered prompt prefixes may take
 * @param pods those known from the start
 * @param podDefaults what a pod added later may leave out
 * @param podsReader reads pods that are listed elsewhere
 * @param podDiscovery where else pods are looked for
 * @param log how the process logs
 * @param discovery how this node finds the others
 * @param peerSettings where the others ask it for decisions, and it them
 * @param partitionPolicy what it does while it is cut off from them
 * @param decisions how decisions are recorded
 * @param platform everything, for the actor system
 * @param file the operator's, null when a command says what is configured
 */
public record KvasirConfig(
    HttpSettings gateway,
    @Nullable Duration keepAlive,
    @Nullable Duration drainDelay,
    Duration drainTimeout,
    ManagementConfig management,
    RoutingConfig routing,
    CellSettings cell,
    Duration probeTimeout,
    ExecutionSettings execution,
    PodClient.Settings podClient,
    @Nullable AnswerSettings answers,
    List<ModelConfig> models,
    long memoBytes,
    List<PodSpec> pods,
    PodDefaults podDefaults,
    PodsReader podsReader,
    Discovery.Settings podDiscovery,
    LogConfig log,
    NodeDiscovery discovery,
    PeerSettings peerSettings,
    PartitionPolicy partitionPolicy,
    DecisionLogSettings decisions,
    Config platform,
    @Nullable Path file) {

  /** How router nodes find each other. */
  public enum NodeDiscovery { SEEDS, DNS, KUBERNETES }

  /** An address to listen on. */
  public record Endpoint(String host, int port) {}

  /**
   * Where operators look.
   *
   * @param keys who of them may administer
   */
  public record ManagementConfig(Endpoint endpoint, AdminKeys keys) {}

  /**
   * How requests find their worker.
   *
   * @param profiles the compiled profiles and who goes by which; null only where a fault is reported
   * @param plugins what profiles are made of, now and when they are reloaded
   * @param jars where plugins that do not come with Kvasir are from; whoever uses the plugins closes it after
   * @param reloadInterval how often changes of the profiles are looked for, zero for never
   * @param costs what prompts cost engines; the profiles look at it
   * @param outputs how long answers are; the profiles look at it, outcomes feed it
   * @param externalMetrics what somebody outside says of workers; the profiles look at it, the admin API feeds it
   * @param clusters semantic clusters; the profiles ask it, whoever serves starts and closes it
   * @param lmcache what LMCache says; the profiles look at it, whoever starts it closes it; null without a controller
   */
  public record RoutingConfig(
      @Nullable Profiles profiles,
      PluginRegistry plugins,
      PluginJars jars,
      Duration reloadInterval,
      CostModel costs,
      OutputLengths outputs,
      ExternalMetrics externalMetrics,
      SemanticClusters clusters,
      @Nullable LmCache lmcache) {
    /** The profiles of a configuration without faults. */
    public Profiles validProfiles() {
      if (profiles == null) {
        throw new IllegalStateException("a configuration with faults is not used");
      }
      return profiles;
    }
  }

  /** How the process logs. */
  public record LogConfig(LogFormat format, LogLevel level) {}

  /** For whom logs are written. */
  public enum LogFormat { TEXT, JSON }

  /** What is logged at least. */
  public enum LogLevel { ERROR, WARN, INFO, DEBUG, TRACE }

  /** Reads an operator's file. */
  public static KvasirConfig load(Path file) throws ConfigException {
    return of(parse(file), file);
  }

  /** Reads what a command says. */
  public static KvasirConfig of(Config own) throws ConfigException {
    return of(own, null);
  }

  private static KvasirConfig of(Config own, @Nullable Path file) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    KvasirConfig read = new KvasirConfigReader(withDefaults(own), file, faults).read();
    if (!faults.isEmpty()) {
      read.routing().jars().close();
      throw new ConfigException(faults.stream().distinct().toList());
    }
    return read;
  }

  /** What stands in an operator's file. */
  public static Config parse(Path file) throws ConfigException {
    if (!Files.isReadable(file)) {
      throw new ConfigException(
          List.of(new ConfigFault("", file.toString(), "cannot be read; does it exist, and may you read it?")));
    }
    try {
      // Absolute: what a file without a directory includes would be looked for nowhere.
      return ConfigFactory.parseFile(
          file.toAbsolutePath().toFile(), ConfigParseOptions.defaults().setAllowMissing(false));
    } catch (com.typesafe.config.ConfigException malformed) {
      throw unreadable(malformed);
    }
  }

  /** What an operator says, over the defaults. */
  public static Config withDefaults(Config own) throws ConfigException {
    ClassLoader loader = KvasirConfig.class.getClassLoader();
    try {
      return own.withFallback(ConfigFactory.parseResources(loader, "kvasir.conf"))
          .withFallback(ConfigFactory.parseResources(loader, "platform.conf"))
          .withFallback(ConfigFactory.defaultReferenceUnresolved(loader))
          .resolve(ConfigResolveOptions.defaults());
    } catch (com.typesafe.config.ConfigException malformed) {
      throw unreadable(malformed);
    }
  }

  private static ConfigException unreadable(com.typesafe.config.ConfigException malformed) {
    ConfigOrigin origin = malformed.origin();
    String file = origin == null ? "" : String.valueOf(origin.filename() == null ? "" : origin.filename());
    String place = origin != null && origin.lineNumber() > 0 ? file + ":" + origin.lineNumber() : file;
    return new ConfigException(List.of(new ConfigFault(place, "the file", String.valueOf(malformed.getMessage()))));
  }
}
