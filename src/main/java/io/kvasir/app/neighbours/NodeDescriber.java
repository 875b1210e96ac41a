package io.kvasir.app.neighbours;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.app.config.NamedCertificate;
import io.kvasir.app.neighbours.NodeMessage.Certificate;
import io.kvasir.app.neighbours.NodeMessage.Description;
import io.kvasir.app.neighbours.NodeMessage.Endpoint;
import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.events.EventFeed;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Describes this node to others. Thread-safe. */
public final class NodeDescriber {
  private final String version;
  private final List<Endpoint> endpoints;
  private final List<NamedCertificate> certificates;
  private final Supplier<List<Setting>> settings;

  /**
   * The ports of a running node as others reach them; they are on the host of its address in the cluster.
   *
   * @param cluster remoting's
   * @param line the one for decisions
   */
  public record Ports(int cluster, int line, int management, int gateway) {}

  /**
   * A describer.
   *
   * @param version Kvasir's, as it runs here
   * @param host at which other nodes reach this one
   * @param settings those in effect
   */
  public NodeDescriber(
      KvasirConfig config, String version, String host, Ports ports, Supplier<List<Setting>> settings) {
    this.version = version;
    this.certificates = NamedCertificate.betweenNodes(config);
    this.settings = settings;
    this.endpoints = endpoints(config, host, ports);
  }

  private static List<Endpoint> endpoints(KvasirConfig config, String host, Ports ports) {
    String node = host + ":" + ports.cluster();
    boolean secured = config.source().platform().getString("pekko.remote.artery.transport").equals("tls-tcp");
    List<Endpoint> endpoints = new ArrayList<>();
    endpoints.add(new Endpoint(node, NodePort.CLUSTER, host, ports.cluster(), secured));
    endpoints.add(new Endpoint(node, NodePort.LINE, host, ports.line(), secured));
    if (config.cluster().discovery() != NodeDiscovery.SEEDS) {
      boolean tls = config.operations().management().tls() != null;
      endpoints.add(new Endpoint(node, NodePort.MANAGEMENT, host, ports.management(), tls));
    }
    if (takesPushes(config)) {
      endpoints.add(new Endpoint(node, NodePort.GATEWAY, host, ports.gateway(), config.gateway().tls() != null));
    }
    return List.copyOf(endpoints);
  }

  /** Whether events are pushed to some node, which forwards them to the one that reads them. */
  private static boolean takesPushes(KvasirConfig config) {
    return config.fleet().pods().stream()
        .flatMap(pod -> pod.events().stream())
        .anyMatch(EventFeed.Push.class::isInstance);
  }

  /** This node's own address. */
  String node() {
    return endpoints.getFirst().node();
  }

  /** Whether remoting has TLS. */
  boolean isSecured() {
    return endpoints.getFirst().tls();
  }

  /**
   * This node as it is now; reads its certificates' files.
   *
   * @param pepper for the digests of secrets
   */
  Description describe(byte[] pepper) {
    return new Description(
        node(), version, endpoints, certificates.stream().map(NodeDescriber::read).toList(),
        SettingsCodec.write(settings.get(), pepper));
  }

  private static Certificate read(NamedCertificate named) {
    CertificateExam read = CertificateExam.of(named.setting(), named.file(), named.host());
    boolean readable = read.failure() == null;
    return new Certificate(
        read.setting(), read.file().toString(), read.host(), read.failure(), readable ? read.from() : null,
        readable ? read.until() : null, read.names(), read.authority());
  }
}
