package io.kvasir.events;

import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.kvasir.events.v1.Batch;
import io.kvasir.events.v1.SubscribeRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A trial of a gRPC stream: a subscription of its own, which servers allow several of. */
final class GrpcTrial implements FeedTrial {
  /** Silence after which everything that is kept has come, where the server does not mark that. */
  private static final long QUIET_MILLIS = 300;

  private static final long CONNECT_SECONDS = 2;
  private static final int MOST_KEPT = 100_000;

  private final String address;
  private final boolean tls;
  private final int rank;
  private final GrpcChannels channels = new GrpcChannels();
  private final PayloadDecoder decoder = new PayloadDecoder();
  private volatile @Nullable BlockingClientCall<SubscribeRequest, Batch> call;

  GrpcTrial(String address, boolean tls, int rank) {
    this.address = address;
    this.tls = tls;
    this.rank = rank;
  }

  @Override
  public String place() {
    return "rank " + rank + " at " + address;
  }

  @Override
  public long begin() throws IOException, InterruptedException {
    call =
        ClientCalls.blockingV2ServerStreamingCall(
            channels.to(address, tls), GrpcTransport.SUBSCRIBE, CallOptions.DEFAULT,
            SubscribeRequest.newBuilder().setRank(rank).build());
    long kept = 0;
    long patience = TimeUnit.SECONDS.toMillis(CONNECT_SECONDS);
    while (kept < MOST_KEPT) {
      Batch batch = read(patience);
      if (batch == null || batch.getPayload().isEmpty()) {
        break;
      }
      kept++;
      patience = QUIET_MILLIS;
    }
    return kept;
  }

  @Override
  public List<DecodedMessage> next(Duration timeout) throws IOException, InterruptedException {
    Batch batch = read(Math.max(1, timeout.toMillis()));
    return batch == null || batch.getPayload().isEmpty()
        ? List.of()
        : List.of(decoder.decode(batch.getSequence(), batch.getPayload().toByteArray()));
  }

  /** The next batch; null when none comes in time. */
  private @Nullable Batch read(long millis) throws IOException, InterruptedException {
    BlockingClientCall<SubscribeRequest, Batch> open = call;
    if (open == null) {
      throw new IOException("not connected");
    }
    try {
      Batch batch = open.read(millis, TimeUnit.MILLISECONDS);
      if (batch == null) {
        throw new IOException("the stream ended");
      }
      return batch;
    } catch (TimeoutException quiet) {
      return null;
    } catch (StatusException refused) {
      Status status = refused.getStatus();
      String detail = status.getDescription() == null ? "" : ": " + status.getDescription();
      throw new IOException(status.getCode() + detail, refused);
    }
  }

  @Override
  public void close() {
    BlockingClientCall<SubscribeRequest, Batch> open = call;
    if (open != null) {
      open.cancel("the trial is over", null);
    }
    channels.close();
  }
}
