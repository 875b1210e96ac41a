package io.kvasir.engines;

import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.kvasir.http.GrpcTls;
import io.kvasir.vllm.ControlProtocol;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** vLLM's gRPC on loopback, which answers with given bytes, with a given status, or never. */
final class TestControl implements AutoCloseable {
  private final Server server;

  /** What a method answers. */
  sealed interface Answer {
    /** A message, in hexadecimal. */
    record Message(String hex) implements Answer {}

    /** A failure. */
    record Failure(Status status) implements Answer {}

    /** Nothing, as long as the client waits. */
    record Silence() implements Answer {}
  }

  /** Starts it on a free port; with TLS where it has a context. */
  TestControl(@Nullable SSLContext tls, Answer info, Answer model, Answer sources) throws IOException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    if (tls != null) {
      builder.sslContext(GrpcTls.server(tls, false));
    }
    server =
        builder
            .addService(
                ServerServiceDefinition.builder(ControlProtocol.SERVICE)
                    .addMethod(method("GetServerInfo"), answering(info))
                    .addMethod(method("GetModelInfo"), answering(model))
                    .addMethod(method("GetKvEventSources"), answering(sources))
                    .build())
            .build()
            .start();
  }

  int port() {
    return server.getPort();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName("vllm.Control/" + name)
        .setRequestMarshaller(new Bytes())
        .setResponseMarshaller(new Bytes())
        .build();
  }

  private static ServerCallHandler<byte[], byte[]> answering(Answer answer) {
    return ServerCalls.asyncUnaryCall((_, observer) -> {
      switch (answer) {
        case Answer.Message(String hex) -> {
          observer.onNext(HexFormat.of().parseHex(hex));
          observer.onCompleted();
        }
        case Answer.Failure(Status status) -> observer.onError(new StatusRuntimeException(status));
        case Answer.Silence() -> {
          // The client's deadline ends the call.
        }
      }
    });
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try (stream) {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
