package io.kvasir.engines;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.kvasir.http.GrpcTls;
import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.HttpCallException;
import io.kvasir.vllm.ControlProtocol;
import io.kvasir.vllm.GetKvEventSourcesRequest;
import io.kvasir.vllm.GetKvEventSourcesResponse;
import io.kvasir.vllm.GetModelInfoRequest;
import io.kvasir.vllm.GetServerInfoRequest;
import io.kvasir.vllm.ModelInfo;
import io.kvasir.vllm.ServerInfo;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Asks vLLM over its own gRPC. With TLS where its HTTP has it, as vLLM serves both by one certificate; it asks for no
 * API key there. Thread-safe; waits for the engine.
 */
final class VllmControl {
  /** The sources of some thousand ranks. */
  private static final int MAX_BYTES = 1 << 20;

  private final @Nullable SSLContext tls;
  private final Duration timeout;

  /**
   * Asks nothing yet.
   *
   * @param tls for engines with TLS, null for what the JVM trusts
   * @param timeout of all questions, which are asked at once
   */
  VllmControl(@Nullable SSLContext tls, Duration timeout) {
    this.tls = tls;
    this.timeout = timeout;
  }

  /**
   * What it answered; null for what it does not know how to answer.
   *
   * @param info the size of its cache and of itself
   * @param model what it serves
   * @param sources where its cache events are
   */
  record Answers(
      @Nullable ServerInfo info, @Nullable ModelInfo model, @Nullable GetKvEventSourcesResponse sources) {}

  /**
   * Asks an engine for all that is of use.
   *
   * @throws HttpCallException when it does not answer, with gRPC's own failure as the cause
   */
  Answers query(EngineAddress engine, int port) throws HttpCallException, InterruptedException {
    String host = engine.url().getHost();
    ManagedChannel channel = channel(host, port, "https".equals(engine.url().getScheme()));
    try {
      Future<ServerInfo> info =
          call(channel, ControlProtocol.GET_SERVER_INFO, GetServerInfoRequest.getDefaultInstance());
      Future<ModelInfo> model =
          call(channel, ControlProtocol.GET_MODEL_INFO, GetModelInfoRequest.getDefaultInstance());
      Future<GetKvEventSourcesResponse> sources =
          call(channel, ControlProtocol.GET_KV_EVENT_SOURCES, GetKvEventSourcesRequest.getDefaultInstance());
      String address = host + ":" + port;
      return new Answers(answer(info, address), answer(model, address), answer(sources, address));
    } finally {
      channel.shutdownNow();
    }
  }

  private ManagedChannel channel(String host, int port, boolean secure) {
    NettyChannelBuilder channel =
        NettyChannelBuilder.forAddress(host, port).maxInboundMessageSize(MAX_BYTES).userAgent("kvasir");
    if (!secure) {
      channel.usePlaintext();
    } else if (tls != null) {
      channel.sslContext(GrpcTls.client(tls));
    }
    return channel.build();
  }

  private <Q, A> Future<A> call(ManagedChannel channel, MethodDescriptor<Q, A> method, Q request) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS);
    return ClientCalls.futureUnaryCall(channel.newCall(method, options), request);
  }

  private static <A> @Nullable A answer(Future<A> call, String address)
      throws HttpCallException, InterruptedException {
    try {
      return call.get();
    } catch (ExecutionException failed) {
      if (!(failed.getCause() instanceof StatusRuntimeException refused)) {
        throw new IllegalStateException(failed);
      }
      Status status = refused.getStatus();
      if (status.getCode() == Status.Code.UNIMPLEMENTED) {
        return null;
      }
      HttpCallException unusable =
          new HttpCallException(
              switch (status.getCode()) {
                case DEADLINE_EXCEEDED -> Kind.TIMEOUT;
                case UNAVAILABLE -> Kind.IO;
                case RESOURCE_EXHAUSTED -> Kind.TOO_LARGE;
                default -> Kind.STATUS;
              },
              "gRPC at " + address + " fails: " + status.getCode());
      unusable.initCause(refused);
      throw unusable;
    }
  }
}
