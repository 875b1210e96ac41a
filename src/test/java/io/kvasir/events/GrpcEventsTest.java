package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.kvasir.events.v1.Batch;
import io.kvasir.events.v1.SubscribeRequest;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against an engine's side that keeps its last batches and sends no faster than it is read. */
final class GrpcEventsTest extends SourceConformance {
  private Engine engine;

  @BeforeEach
  void startEngine() throws IOException {
    engine = open(new Engine(Ports.free(), 1, 10_000));
  }

  @Test
  void theChannelToAServer_isClosedByItsLastUser() {
    GrpcChannels channels = transports.shared(GrpcChannels.class, _ -> new GrpcChannels());
    String address = "127.0.0.1:" + engine.port();
    ManagedChannel channel = channels.to(address, false);
    TestStream stream = subscribe();
    publish(0, TestBatches.json(0, 0));
    assertThat(stream.takeUntil("0")).contains("up");
    channels.release(address, false);
    assertThat(channel.isShutdown()).isFalse();
    stream.close();
    await(channel::isShutdown);
  }

  @Override
  EventSource source() {
    return open(new EventFeed.Grpc("127.0.0.1:" + engine.port(), false), 3, 4);
  }

  @Override
  void publish(long number, byte[] payload) {
    engine.publish(number, payload);
  }

  @Test
  void history_isSentFirst_asFarAsItIsKept() throws IOException {
    try (Engine small = new Engine(0, 1, 3)) {
      for (int i = 0; i < 5; i++) {
        small.publish(i, TestBatches.msgpack(i, 0, 0));
      }
      TestStream stream = subscribe(open(new EventFeed.Grpc("127.0.0.1:" + small.port(), false), 3, 4));
      stream.expect("up", "gap0", "lost0-1", "2", "3", "4");
      stream.close();
    }
  }

  @Test
  void aBrokenConnection_isMadeAgain_fromTheFirstMissingBatch() throws IOException {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(1);
    stream.expect("0", "1");
    Engine same = engine;
    int port = same.port();
    same.stop();
    stream.expect("down");
    publish(2);
    same.start(port);
    stream.expect("up", "2");
    assertThat(same.lastRequest().getFromSequence()).isEqualTo(2);
    assertThat(same.lastRequest().getEpoch()).isEqualTo(1);
    assertThat(same.lastRequest().getRank()).isEqualTo(3);
    assertThat(metric("kvasir_events_reconnects")).isEqualTo(1);
  }

  @Test
  void anotherEpoch_isAnEngineThatBeganAnew_evenUnderTheNumbersThatFollow() throws IOException {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    stream.expect("0");
    int port = engine.port();
    engine.close();
    stream.expect("down");
    Engine anew = new Engine(port, 2, 10);
    engine = open(anew);
    anew.publish(0, TestBatches.msgpack(0, 1, 0));
    anew.publish(1, TestBatches.msgpack(1, 1, 0));
    stream.expect("up", "restart", "0", "1");
  }

  /** A server of the protocol, as an engine's side would have it. */
  private static final class Engine implements AutoCloseable {
    private final long epoch;
    private final int capacity;
    private final List<Batch> kept = new ArrayList<>();
    private final List<Subscriber> subscribers = new ArrayList<>();
    private SubscribeRequest lastRequest = SubscribeRequest.getDefaultInstance();
    private long dropped;
    private Server server;

    private final class Subscriber {
      private final ServerCallStreamObserver<Batch> call;
      private long next;
      private boolean marked;

      Subscriber(ServerCallStreamObserver<Batch> call, long next) {
        this.call = call;
        this.next = next;
      }

      void send() {
        while (call.isReady() && !call.isCancelled()) {
          next = Math.max(next, dropped);
          if (next < dropped + kept.size()) {
            call.onNext(kept.get((int) (next++ - dropped)));
          } else if (!marked) {
            marked = true;
            long end = kept.isEmpty() ? 0 : kept.getLast().getSequence() + 1;
            call.onNext(Batch.newBuilder().setSequence(end).setEpoch(epoch).build());
          } else {
            return;
          }
        }
      }
    }

    Engine(int port, long epoch, int capacity) throws IOException {
      this.epoch = epoch;
      this.capacity = capacity;
      this.server = begin(port);
    }

    int port() {
      return server.getPort();
    }

    synchronized SubscribeRequest lastRequest() {
      return lastRequest;
    }

    /** Keeps and sends; what it holds back for a slow reader stays kept. */
    synchronized void publish(long number, byte[] payload) {
      kept.add(
          Batch.newBuilder().setSequence(number).setEpoch(epoch).setPayload(ByteString.copyFrom(payload)).build());
      if (kept.size() > capacity) {
        kept.removeFirst();
        dropped++;
      }
      subscribers.forEach(Subscriber::send);
    }

    void stop() {
      server.shutdownNow();
      try {
        assertThat(server.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      synchronized (this) {
        subscribers.clear();
      }
    }

    void start(int port) throws IOException {
      server = begin(port);
    }

    private Server begin(int port) throws IOException {
      return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
          .addService(
              ServerServiceDefinition.builder("kvasir.events.v1.CacheEvents")
                  .addMethod(GrpcTransport.SUBSCRIBE, ServerCalls.asyncServerStreamingCall(this::subscribe))
                  .build())
          .build()
          .start();
    }

    private synchronized void subscribe(SubscribeRequest request, StreamObserver<Batch> answer) {
      lastRequest = request;
      long first = 0;
      if (request.getEpoch() == epoch) {
        while (first < kept.size() && kept.get((int) first).getSequence() < request.getFromSequence()) {
          first++;
        }
      }
      Subscriber subscriber = new Subscriber((ServerCallStreamObserver<Batch>) answer, dropped + first);
      subscribers.add(subscriber);
      subscriber.call.setOnReadyHandler(
          () -> {
            synchronized (this) {
              subscriber.send();
            }
          });
      subscriber.call.setOnCancelHandler(
          () -> {
            synchronized (this) {
              subscribers.remove(subscriber);
            }
          });
      subscriber.send();
    }

    @Override
    public void close() {
      stop();
    }
  }
}
