package io.kvasir.app.membership;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.discovery.Lookup;
import org.apache.pekko.discovery.ServiceDiscovery;
import org.apache.pekko.management.cluster.bootstrap.ClusterBootstrap;
import org.apache.pekko.management.cluster.bootstrap.ClusterBootstrapSettings;

/**
 * The nodes that there are now, as discovery finds them, this one included: at the ports of management, where nodes
 * that start find each other. Thread-safe.
 */
final class ContactPoints {
  private final ServiceDiscovery discovery;
  private final Lookup lookup;
  private final Duration timeout;
  private final int usualPort;

  /** Those of a system whose nodes find each other by discovery. */
  ContactPoints(ActorSystem<?> system) {
    ClusterBootstrap bootstrap = ClusterBootstrap.get(system);
    ClusterBootstrapSettings settings = bootstrap.settings();
    Lookup named = Lookup.create(settings.getContactPointDiscoveryEffectiveName(system.classicSystem()));
    named = settings.getContactPointDiscoveryPortName().map(named::withPortName).orElse(named);
    this.lookup = settings.getContactPointDiscoveryProtocol().map(named::withProtocol).orElse(named);
    this.discovery = bootstrap.discovery();
    this.timeout = settings.getContactPointDiscoveryResolveTimeout();
    this.usualPort = settings.getContactPointFallbackPort();
  }

  /** Looks for them; fails when discovery does not answer in time. */
  CompletionStage<List<InetSocketAddress>> find() {
    return discovery
        .lookup(lookup, timeout)
        .thenApply(found -> found.getAddresses().stream().map(this::address).toList());
  }

  private InetSocketAddress address(ServiceDiscovery.ResolvedTarget target) {
    int port = target.getPort().map(Integer.class::cast).orElse(usualPort);
    return target.getAddress()
        .map(known -> new InetSocketAddress(known, port))
        .orElseGet(() -> InetSocketAddress.createUnresolved(target.host(), port));
  }
}
