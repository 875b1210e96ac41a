package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.app.config.KvasirConfig.ClusterConfig;
import io.kvasir.app.config.KvasirConfig.ManagementConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.app.membership.KubernetesNodes;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.peer.PeerSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the section {@code cluster}, and translates it into the platform's own settings. */
final class ClusterReader {
  private static final Pattern HOST_AND_PORT = Pattern.compile("([^:/\\s]+|\\[[0-9a-fA-F:]+]):\\d{1,5}");
  private static final Pattern WILDCARD = Pattern.compile("0\\.0\\.0\\.0|::|\\[::]");
  private static final String SEED_TIMEOUT = "pekko.cluster.seed-node-timeout";
  private static final Duration PLATFORM_SEED_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration FIRST_SEED_TIMEOUT = Duration.ofSeconds(20);
  private static final String BOOTSTRAP = "pekko.management.cluster.bootstrap.contact-point-discovery.";

  private final ConfigSection cluster;
  private final ManagementConfig management;
  private final int maxLength;
  private final String host;
  private final int port;
  private final int linePort;
  private final int lineBindPort;
  private final NodeDiscovery discovery;
  private final PartitionPolicy minority;
  private Config platform;

  /**
   * Reads the section.
   *
   * @param config the whole configuration
   * @param cluster the section
   * @param management the management port, which discovery uses
   * @param maxLength the longest message of a peer connection, in bytes
   */
  ClusterReader(Config config, ConfigSection cluster, ManagementConfig management, int maxLength) {
    this.cluster = cluster;
    this.management = management;
    this.maxLength = maxLength;
    this.platform = config;
    this.host = cluster.name("host");
    this.port = cluster.count("port", 0, 65_535);
    this.linePort = cluster.count("line-port", 0, 65_535);
    this.lineBindPort = cluster.count("line-bind-port", 0, 65_535);
    this.discovery = cluster.choice("discovery", NodeDiscovery.class);
    this.minority = cluster.choice("minority", PartitionPolicy.class);
    if (WILDCARD.matcher(host).matches()) {
      cluster.fault("host", "has to be one address, at which other nodes reach this one, not " + host);
    }
    if (linePort != 0 && linePort == port) {
      cluster.fault("line-port", "has to be another than port, which is " + port);
    }
    if (lineBindPort != 0 && linePort == 0) {
      cluster.fault("line-bind-port", "is for a line-port that stands in front of it; set that, or line-port alone");
    }
    set("pekko.remote.artery.canonical.hostname", host);
    set("pekko.remote.artery.canonical.port", port);
    String zone = cluster.text("zone");
    if (!zone.isBlank()) {
      set("pekko.cluster.roles", List.of(CellSettings.ZONE_ROLE + zone));
    }
    version();
    contactPoint();
    List<String> seeds = seeds();
    ConfigSection dns = cluster.section("dns");
    ConfigSection kubernetes = cluster.section("kubernetes");
    int required = cluster.count("required-nodes", 1, 10_000);
    var stable = cluster.duration("stable-for");
    boolean allowLoopback = cluster.flag("allow-loopback");
    if (discovery != NodeDiscovery.SEEDS) {
      checkManagement(allowLoopback, seeds);
      set(BOOTSTRAP + "required-contact-point-nr", required);
      set(BOOTSTRAP + "stable-margin", stable.toMillis() + " ms");
    }
    dns(dns);
    kubernetes(kubernetes);
    new TlsReader(cluster.section("tls")).settings().forEach(this::set);
  }

  ClusterConfig settings() {
    return new ClusterConfig(discovery, peers(), minority);
  }

  /** Listens at and connects from the addresses of remoting. */
  private PeerSettings peers() {
    Config artery = platform.getConfig("pekko.remote.artery");
    String bound = artery.getString("bind.hostname");
    return new PeerSettings(
        bound.isEmpty() ? host : bound,
        lineBindPort == 0 ? linePort : lineBindPort,
        linePort,
        artery.getString("advanced.tcp.outbound-client-hostname"),
        maxLength);
  }

  /** Every setting, for the actor system. */
  Config platform() {
    return platform;
  }

  /** Rolling updates move cells to nodes of the newest version first. */
  private void version() {
    String version = BuildVersion.ofBuild();
    if (version != null && platform.getString("pekko.cluster.app-version").equals("0.0.0")) {
      set("pekko.cluster.app-version", version);
    }
  }

  private List<String> seeds() {
    List<String> seeds = new ArrayList<>();
    @Nullable String remoteSeed = null;
    @Nullable String localSeed = null;
    for (String seed : cluster.texts("seed-nodes")) {
      if (!HOST_AND_PORT.matcher(seed).matches()) {
        cluster.fault("seed-nodes", "'" + seed + "' has to be host:port");
      } else if (LoopbackHosts.contain(seed.substring(0, seed.lastIndexOf(':')))) {
        localSeed = seed;
      } else {
        remoteSeed = seed;
      }
      seeds.add("pekko://kvasir@" + seed);
    }
    if (!seeds.isEmpty() && port == 0) {
      cluster.fault("port", "has to be fixed when there are seed-nodes, so that other nodes find this one");
    }
    if (remoteSeed != null && LoopbackHosts.contain(host)) {
      cluster.fault(
          "host",
          host + " cannot be reached from other machines, and seed-nodes has " + remoteSeed
              + "; set it to an address of this machine");
    }
    if (remoteSeed != null && localSeed != null) {
      cluster.fault(
          "seed-nodes",
          localSeed + " is another node on every machine, and " + remoteSeed + " is not; name each by address");
    }
    set("pekko.cluster.seed-nodes", seeds);
    if (seeds.size() > 1 && seeds.getFirst().equals("pekko://kvasir@" + host + ":" + port)) {
      checkTimeouts();
    }
    return seeds;
  }

  /**
   * The first of the seed nodes forms a cluster when no other has answered for a while. When it starts again beside
   * others that are only slow, that would be a second cluster; where they say that there is none yet it does not wait.
   */
  private void checkTimeouts() {
    if (platform.getDuration(SEED_TIMEOUT).equals(PLATFORM_SEED_TIMEOUT)) {
      set(SEED_TIMEOUT, FIRST_SEED_TIMEOUT.toSeconds() + " s");
    }
  }

  /** Nodes that find each other contact each other on their management ports. */
  private void checkManagement(boolean allowLoopback, List<String> seeds) {
    if (!seeds.isEmpty()) {
      cluster.fault("seed-nodes", "is for discovery = seeds; remove it, or the discovery");
    }
    if (port == 0) {
      cluster.fault("port", "has to be fixed when nodes find each other; 7355 is usual");
    }
    if (management.port() == 0) {
      cluster.fault("discovery", "needs a fixed kvasir.management.port: other nodes contact this one there");
    }
    if (LoopbackHosts.contain(host) && !allowLoopback) {
      cluster.fault(
          "host",
          host + " cannot be reached from other machines; set it (KVASIR_CLUSTER_HOST) to an address of this machine");
    }
    if (!management.isReachable() && !allowLoopback) {
      cluster.fault(
          "discovery",
          "needs a kvasir.management.host that other nodes reach, not " + management.host()
              + "; set it (KVASIR_MANAGEMENT_HOST) to 0.0.0.0 or an address of this machine");
    }
    if (management.tls() != null && !TlsFilesReader.acceptsItself(management.tls())) {
      cluster.fault(
          "discovery",
          "has nodes show each other the management port's certificate, and kvasir.management.tls.client-authority does"
              + " not accept it; have it issued by that authority, for servers and for clients, or leave"
              + " client-authority out");
    }
  }

  /** Without it the platform looks this machine's own name up, which fails where nobody knows it. */
  private void contactPoint() {
    boolean everywhere = WILDCARD.matcher(management.host()).matches();
    set("pekko.management.http.hostname", everywhere ? host : management.host());
    set("pekko.management.http.port", management.port());
  }

  private void dns(ConfigSection dns) {
    String name = dns.text("name");
    String portName = dns.text("port-name");
    List<String> servers = dns.texts("servers");
    for (String server : servers) {
      if (!HOST_AND_PORT.matcher(server).matches()) {
        dns.fault("servers", "'" + server + "' has to be host:port, such as 10.0.0.53:53");
      }
    }
    dns.rejectUnread();
    if (discovery == NodeDiscovery.DNS) {
      if (name.isBlank()) {
        dns.fault("name", "is needed for discovery = dns: a name that has the addresses of all nodes");
      }
      set(BOOTSTRAP + "discovery-method", "pekko-dns");
      set(BOOTSTRAP + "effective-name", name);
      set(BOOTSTRAP + "port-name", portName);
      set(BOOTSTRAP + "protocol", portName.isEmpty() ? "" : "tcp");
      if (!servers.isEmpty()) {
        set("pekko.io.dns.async-dns.nameservers", servers);
      }
    }
  }

  private void kubernetes(ConfigSection kubernetes) {
    String selector = kubernetes.text("selector");
    String portName = kubernetes.name("port-name");
    String namespace = kubernetes.text("namespace");
    String api = kubernetes.text("api").isEmpty() ? "" : kubernetes.url("api").toString();
    String token = kubernetes.text("token");
    String authority = kubernetes.text("authority");
    kubernetes.rejectUnread();
    if (discovery == NodeDiscovery.KUBERNETES) {
      if (selector.isBlank()) {
        kubernetes.fault("selector", "is needed for discovery = kubernetes: what labels the routers' pods have");
      }
      set(BOOTSTRAP + "discovery-method", "kubernetes-api");
      set(BOOTSTRAP + "port-name", portName);
      String discovered = KubernetesNodes.SETTINGS + ".";
      set(discovered + "class", KubernetesNodes.class.getName());
      set(discovered + "pod-label-selector", selector);
      set(discovered + "pod-namespace", namespace);
      set(discovered + "api", api);
      set(discovered + "api-token-path", token);
      set(discovered + "api-ca-path", authority);
    }
  }

  private void set(String path, Object value) {
    platform = platform.withValue(path, ConfigValueFactory.fromAnyRef(value));
  }
}
