package io.kvasir.load;

import java.util.List;
import java.util.stream.IntStream;

/** Nothing between nodes but the machine's loopback interface, which cannot be cut. */
final class LoopbackNetwork implements NodeNetwork {
  private final List<Integer> ports;

  /** The network of so many nodes. */
  LoopbackNetwork(int nodes) {
    this.ports = IntStream.range(0, nodes).mapToObj(_ -> Ports.free()).toList();
  }

  @Override
  public String kind() {
    return "loopback";
  }

  @Override
  public String address(int node) {
    return host(node) + ":" + ports.get(node);
  }

  @Override
  public String settings(int node) {
    return "kvasir.cluster.port = " + ports.get(node);
  }

  @Override
  public void partition(int node) {
    throw new UnsupportedOperationException("loopback cannot be cut");
  }

  @Override
  public void heal() {
    // Nothing is ever cut.
  }

  @Override
  public void close() {
    // Nothing was made.
  }
}
