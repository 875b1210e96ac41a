package io.kvasir.sim.operations;

import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.vllm.ControlProtocol;
import io.kvasir.vllm.GetKvEventSourcesResponse;
import io.kvasir.vllm.KvEventSource;
import io.kvasir.vllm.ModelInfo;
import io.kvasir.vllm.ParallelismInfo;
import io.kvasir.vllm.ServerInfo;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/**
 * vLLM's gRPC, as far as it tells what an engine is ({@code Control} in {@code rust/src/server/src/grpc/control.rs}).
 * Owns its port until it is closed. Thread-safe.
 */
public final class ControlServer implements AutoCloseable {
  private final SimSettings settings;
  private final IntUnaryOperator eventsPort;
  private final IntUnaryOperator replayPort;
  private final Server server;

  /**
   * Starts to answer.
   *
   * @param port 0 for a free one
   * @param eventsPort each rank's, 0 without events or where the engine connects
   * @param replayPort each rank's, 0 without replay
   * @throws IOException when the port is taken; the message has it
   */
  public ControlServer(SimSettings settings, int port, IntUnaryOperator eventsPort, IntUnaryOperator replayPort)
      throws IOException {
    this.settings = settings;
    this.eventsPort = eventsPort;
    this.replayPort = replayPort;
    try {
      this.server =
          NettyServerBuilder.forAddress(new InetSocketAddress(settings.http().host(), port))
              .addService(
                  ServerServiceDefinition.builder(ControlProtocol.SERVICE)
                      .addMethod(ControlProtocol.GET_SERVER_INFO, answering(this::info))
                      .addMethod(ControlProtocol.GET_MODEL_INFO, answering(this::model))
                      .addMethod(ControlProtocol.GET_KV_EVENT_SOURCES, answering(this::sources))
                      .build())
              .build()
              .start();
    } catch (IOException taken) {
      throw new IOException("grpc-port: port " + port + " cannot be bound: " + taken.getMessage(), taken);
    }
  }

  private static <Q, A> ServerCallHandler<Q, A> answering(Supplier<A> answer) {
    return ServerCalls.asyncUnaryCall((_, observer) -> {
      observer.onNext(answer.get());
      observer.onCompleted();
    });
  }

  public int port() {
    return server.getPort();
  }

  private ServerInfo info() {
    int ranks = settings.engine().ranks();
    return ServerInfo.newBuilder()
        .setParallelism(ParallelismInfo.newBuilder().setDataParallelSize(ranks).setDataParallelSizeLocal(ranks))
        .setMaxModelLen(settings.maxModelLen())
        .setKvBlockSize(settings.engine().blockSize())
        .setTotalKvBlocks((long) settings.engine().blocks() * ranks)
        .setEffectiveAttentionBlockSize(settings.engine().blockSize())
        .build();
  }

  private ModelInfo model() {
    return ModelInfo.newBuilder().setModelId(settings.model().root()).build();
  }

  private GetKvEventSourcesResponse sources() {
    EventSettings events = settings.kv().events();
    GetKvEventSourcesResponse.Builder sources = GetKvEventSourcesResponse.newBuilder();
    for (int rank = 0; events.enabled() && rank < settings.engine().ranks(); rank++) {
      String connect = events.pub().connect();
      int replay = replayPort.applyAsInt(rank);
      sources.addSources(
          KvEventSource.newBuilder()
              .setTransport("zmq")
              .setEndpoint(connect == null ? IdentityPages.bound(eventsPort.applyAsInt(rank)) : connect)
              .setTopic(events.topic())
              .setReplayEndpoint(replay == 0 ? "" : IdentityPages.bound(replay))
              .setDataParallelRank(rank)
              .setEncoding("msgpack")
              .setSchemaVersion(1)
              .setBufferSteps(events.replay().bufferSteps()));
    }
    return sources.build();
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
