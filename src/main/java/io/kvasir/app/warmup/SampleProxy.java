package io.kvasir.app.warmup;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.kvasir.picker.extproc.BodyResponse;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.HeaderMap;
import io.kvasir.picker.extproc.HeaderValue;
import io.kvasir.picker.extproc.HttpBody;
import io.kvasir.picker.extproc.HttpHeaders;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.picker.extproc.ProtocolConfiguration;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A gateway's proxy that asks an endpoint picker, as Envoy does in full duplex: it shows the request, and once it has
 * been told where that goes the response, which it makes up itself. Thread-safe.
 */
public final class SampleProxy implements Entrance, AutoCloseable {
  private static final MethodDescriptor<ProcessingRequest, ProcessingResponse> PROCESS =
      MethodDescriptor.<ProcessingRequest, ProcessingResponse>newBuilder()
          .setType(MethodType.BIDI_STREAMING)
          .setFullMethodName("envoy.service.ext_proc.v3.ExternalProcessor/Process")
          .setRequestMarshaller(ProtoUtils.marshaller(ProcessingRequest.getDefaultInstance()))
          .setResponseMarshaller(ProtoUtils.marshaller(ProcessingResponse.getDefaultInstance()))
          .build();

  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final int ALL = Integer.MAX_VALUE;

  private final ManagedChannel channel;

  /** A proxy of a picker on loopback, in plain text. */
  public SampleProxy(int port) {
    this.channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().directExecutor().build();
  }

  @Override
  public @Nullable String post(String path, byte[] body) {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    ClientCall<ProcessingRequest, ProcessingResponse> call = channel.newCall(PROCESS, CallOptions.DEFAULT);
    call.start(new Exchange(call, path, ended), new Metadata());
    call.request(ALL);
    call.sendMessage(head(path));
    call.sendMessage(ProcessingRequest.newBuilder().setRequestBody(piece(ByteString.copyFrom(body), true)).build());
    try {
      Status status = ended.get(TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
      return status.isOk() ? null : status.toString();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      call.cancel("stopped", stopped);
      return "interrupted";
    } catch (ExecutionException | TimeoutException failed) {
      call.cancel("no end", failed);
      return failed.toString();
    }
  }

  /** The proxy's answers to what the picker says. */
  private static final class Exchange extends ClientCall.Listener<ProcessingResponse> {
    private final ClientCall<ProcessingRequest, ProcessingResponse> call;
    private final String path;
    private final CompletableFuture<Status> ended;

    Exchange(
        ClientCall<ProcessingRequest, ProcessingResponse> call, String path, CompletableFuture<Status> ended) {
      this.call = call;
      this.path = path;
      this.ended = ended;
    }

    @Override
    public void onMessage(ProcessingResponse reply) {
      switch (reply.getResponseCase()) {
        case REQUEST_BODY -> {
          if (isLast(reply.getRequestBody())) {
            respond();
          }
        }
        case RESPONSE_BODY -> {
          if (isLast(reply.getResponseBody())) {
            call.halfClose();
          }
        }
        case IMMEDIATE_RESPONSE ->
            ended.complete(
                Status.UNKNOWN.withDescription("answered with " + reply.getImmediateResponse().getStatus().getCode()));
        default -> {
          // Heads are answered with what follows them.
        }
      }
    }

    private static boolean isLast(BodyResponse piece) {
      return piece.getResponse().getBodyMutation().getStreamedResponse().getEndOfStream();
    }

    private void respond() {
      byte[] whole = LoopbackEngine.whole(path).getBytes(StandardCharsets.UTF_8);
      HeaderMap.Builder headers = HeaderMap.newBuilder();
      add(headers, ":status", "200");
      add(headers, "content-type", "application/json");
      add(headers, "content-length", Integer.toString(whole.length));
      call.sendMessage(
          ProcessingRequest.newBuilder().setResponseHeaders(HttpHeaders.newBuilder().setHeaders(headers)).build());
      call.sendMessage(
          ProcessingRequest.newBuilder().setResponseBody(piece(ByteString.copyFrom(whole), false)).build());
      call.sendMessage(ProcessingRequest.newBuilder().setResponseBody(piece(ByteString.EMPTY, true)).build());
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      ended.complete(status);
    }
  }

  private static HttpBody.Builder piece(ByteString bytes, boolean last) {
    return HttpBody.newBuilder().setBody(bytes).setEndOfStream(last);
  }

  private static ProcessingRequest head(String path) {
    HeaderMap.Builder headers = HeaderMap.newBuilder();
    add(headers, ":method", "POST");
    add(headers, ":path", path);
    add(headers, ":authority", "picker");
    add(headers, "content-type", "application/json");
    add(headers, "accept", "*/*");
    return ProcessingRequest.newBuilder()
        .setRequestHeaders(HttpHeaders.newBuilder().setHeaders(headers))
        .setProtocolConfig(
            ProtocolConfiguration.newBuilder()
                .setRequestBodyMode(BodySendMode.FULL_DUPLEX_STREAMED)
                .setResponseBodyMode(BodySendMode.FULL_DUPLEX_STREAMED))
        .build();
  }

  private static void add(HeaderMap.Builder headers, String name, String value) {
    headers.addHeaders(HeaderValue.newBuilder().setKey(name).setRawValue(ByteString.copyFromUtf8(value)));
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
