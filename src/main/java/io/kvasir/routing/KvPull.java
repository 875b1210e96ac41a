package io.kvasir.routing;

/**
 * KV blocks that a worker takes from another one's memory rather than compute them. A worker that finds less there than
 * was expected computes the rest.
 *
 * @param worker id of the worker that has them
 * @param host under which its side channel is reached, an IPv6 address without brackets
 * @param port of the side channel of its rank
 * @param tokens leading tokens of the prompt that it has
 */
public record KvPull(String worker, String host, int port, int tokens) {
  /** A pull from a worker whose pod transfers KV blocks. */
  static KvPull from(Worker source, KvTransfer transfer, int tokens) {
    return new KvPull(source.id(), transfer.bareHost(), transfer.bootstrapPort() + source.rank(), tokens);
  }
}
