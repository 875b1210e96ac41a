package io.kvasir.events;

import com.google.protobuf.ByteString;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.kvasir.events.v1.Batch;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** A gRPC server of cache events on loopback, or one that has no such service. */
public final class TestEventService implements AutoCloseable {
  private final List<StreamObserver<Batch>> subscribers = new CopyOnWriteArrayList<>();
  private final AtomicLong next = new AtomicLong();
  private final Server server;

  /** Starts it on a free port. */
  public TestEventService(boolean withService) throws IOException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    if (withService) {
      builder.addService(
          ServerServiceDefinition.builder("kvasir.events.v1.CacheEvents")
              .addMethod(
                  GrpcTransport.SUBSCRIBE, ServerCalls.asyncServerStreamingCall((_, batches) -> begin(batches)))
              .build());
    }
    server = builder.build().start();
  }

  private void begin(StreamObserver<Batch> batches) {
    batches.onNext(Batch.newBuilder().setSequence(next.get()).setEpoch(1).build());
    subscribers.add(batches);
  }

  /** Where it listens. */
  public String address() {
    return "127.0.0.1:" + server.getPort();
  }

  /** Sends a batch to all subscribers. */
  public void publish(byte[] payload) {
    Batch batch =
        Batch.newBuilder().setSequence(next.getAndIncrement()).setEpoch(1).setPayload(ByteString.copyFrom(payload))
            .build();
    subscribers.forEach(subscriber -> subscriber.onNext(batch));
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
