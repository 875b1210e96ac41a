package io.kvasir.events;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.kvasir.events.v1.Batch;
import io.kvasir.events.v1.SubscribeRequest;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The transport of events that an engine, or its sidecar, serves over gRPC ({@code src/main/proto/events.proto}).
 * Subscribes to one rank from the first batch that is missing, so a lost connection loses nothing that the server
 * keeps. While the queue is full no message is requested, and HTTP/2 flow control pauses the server.
 */
final class GrpcTransport implements Puller.Transport {
  /** The only method, as the generated stub would have it. */
  static final MethodDescriptor<SubscribeRequest, Batch> SUBSCRIBE =
      MethodDescriptor.<SubscribeRequest, Batch>newBuilder()
          .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
          .setFullMethodName(MethodDescriptor.generateFullMethodName("kvasir.events.v1.CacheEvents", "Subscribe"))
          .setRequestMarshaller(ProtoUtils.marshaller(SubscribeRequest.getDefaultInstance()))
          .setResponseMarshaller(ProtoUtils.marshaller(Batch.getDefaultInstance()))
          .build();

  /** Batches read between checks for room in the queue. */
  private static final int BATCHES_PER_POLL = 64;

  private final ManagedChannel channel;
  private final Runnable release;
  private final int rank;
  private long epoch;

  /**
   * Not subscribed yet.
   *
   * @param release gives the channel back
   */
  GrpcTransport(ManagedChannel channel, Runnable release, int rank) {
    this.channel = channel;
    this.release = release;
    this.rank = rank;
  }

  @Override
  public Puller.Session open(Inbox inbox) throws StatusException, InterruptedException, TimeoutException {
    // By itself the channel would wait before it connects again.
    channel.resetConnectBackoff();
    SubscribeRequest request =
        SubscribeRequest.newBuilder().setFromSequence(inbox.next()).setEpoch(epoch).setRank(rank).build();
    return new GrpcSession(
        ClientCalls.blockingV2ServerStreamingCall(channel, SUBSCRIBE, CallOptions.DEFAULT, request), inbox);
  }

  @Override
  public void close() {
    release.run();
  }

  private final class GrpcSession implements Puller.Session {
    private final BlockingClientCall<SubscribeRequest, Batch> call;
    private final Inbox inbox;

    GrpcSession(BlockingClientCall<SubscribeRequest, Batch> call, Inbox inbox) {
      this.call = call;
      this.inbox = inbox;
    }

    @Override
    public void poll() throws Exception {
      for (int i = 0; i < BATCHES_PER_POLL; i++) {
        Batch batch;
        try {
          batch = call.read(1, TimeUnit.SECONDS);
        } catch (TimeoutException quiet) {
          return;
        }
        take(batch);
      }
    }

    private void take(@Nullable Batch batch) throws IOException {
      if (batch == null) {
        throw new IOException("the stream ended");
      }
      inbox.connected(true);
      if (epoch != 0 && batch.getEpoch() != epoch) {
        inbox.restarted();
      }
      epoch = batch.getEpoch();
      if (batch.getPayload().isEmpty()) {
        if (batch.getSequence() == inbox.next()) {
          inbox.caughtUp();
        }
      } else {
        inbox.message(batch.getSequence(), batch.getPayload().toByteArray());
      }
    }

    @Override
    public void close() {
      call.cancel("the subscription ended", null);
    }
  }
}
