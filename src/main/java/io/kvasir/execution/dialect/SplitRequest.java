package io.kvasir.execution.dialect;

import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to serve a request on two workers. A further attempt is another split, with another id and room:
 * engines take neither twice.
 *
 * @param request the client's
 * @param id unique among all that engines hand over, whatever ids clients give their requests: engines that meet under
 *     one that is taken would give a request another one's blocks
 * @param rendezvousId random, 0..2⁶³−1: where both sides meet
 * @param prefill the worker that computes the prompt; its pod hands the blocks over
 * @param bootstrap the response of {@link KvTransferProtocol#bootstrap}, null where there is no such server
 */
public record SplitRequest(ClientRequest request, String id, long rendezvousId, Worker prefill,
    @Nullable JsonMembers bootstrap) {
  /** Refuses a room that engines would not take and a worker that hands nothing over. */
  public SplitRequest {
    if (rendezvousId < 0) {
      throw new IllegalArgumentException("a room is 0..2^63-1, not " + rendezvousId);
    }
    transfer(prefill);
  }

  /**
   * An id that nobody else has, though clients may give several requests one id.
   *
   * @param requestId what it begins with, so that it is found in engines' logs
   * @param random of 64 bits; vLLM takes 32 for its own and leaves them out
   */
  public static String uniqueId(String requestId, long random) {
    return requestId + "-" + HexFormat.of().toHexDigits(random);
  }

  /** The same of another form of the request. */
  public SplitRequest of(ClientRequest other) {
    return new SplitRequest(other, id, rendezvousId, prefill, bootstrap);
  }

  KvTransfer transfer() {
    return transfer(prefill);
  }

  /** How a worker's pod hands over. */
  static KvTransfer transfer(Worker worker) {
    KvTransfer transfer = worker.kvTransfer();
    if (transfer == null) {
      throw new IllegalArgumentException("worker " + worker.id() + " hands nothing over");
    }
    return transfer;
  }

  /** The bootstrap server of a worker's pod; {@code host} may be an IPv6 address with or without its brackets. */
  static URI bootstrapServer(Worker worker, String path) {
    KvTransfer transfer = transfer(worker);
    String host = transfer.host();
    String bracketed = host.indexOf(':') >= 0 && !host.startsWith("[") ? "[" + host + "]" : host;
    return URI.create("http://" + bracketed + ":" + transfer.bootstrapPort() + path);
  }

  /** The same host as engines write it in JSON: an IPv6 address without brackets. */
  String bareHost() {
    return transfer().bareHost();
  }
}
