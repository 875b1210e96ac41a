package io.kvasir.load;

import java.io.IOException;
import java.util.List;

/**
 * What lies between router nodes of one machine, and between them and everybody else. Nodes are numbered from 0.
 * Thread-safe.
 */
public sealed interface NodeNetwork extends AutoCloseable permits LoopbackNetwork, RelayNetwork, NamespaceNetwork {
  /** What results call it. */
  String kind();

  /** Where clients reach a node: on loopback, unless it is elsewhere. */
  default String host(int node) {
    return "127.0.0.1";
  }

  /** Where nodes reach what is none of them: engines. */
  default String outside() {
    return "127.0.0.1";
  }

  /** Where the others reach a node, as its cluster knows it: host and port. */
  String address(int node);

  /** What makes a node part of this network: its cluster settings but for the other nodes. */
  String settings(int node);

  /** The command that runs another at a node's place: itself, unless that is elsewhere. */
  default List<String> command(int node, List<String> command) {
    return command;
  }

  /** From now on nothing passes between this node and the others; everybody else still reaches it. */
  void partition(int node) throws IOException;

  /** Everything passes again. */
  void heal() throws IOException;

  @Override
  void close() throws IOException;
}
