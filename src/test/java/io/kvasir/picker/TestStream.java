package io.kvasir.picker;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.CommonResponse;
import io.kvasir.picker.extproc.HeaderMap;
import io.kvasir.picker.extproc.HeaderMutation;
import io.kvasir.picker.extproc.HeaderValue;
import io.kvasir.picker.extproc.HttpBody;
import io.kvasir.picker.extproc.HttpHeaders;
import io.kvasir.picker.extproc.HttpTrailers;
import io.kvasir.picker.extproc.ImmediateResponse;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.picker.extproc.ProtocolConfiguration;
import java.io.ByteArrayOutputStream;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The proxy's side of one stream, message by message. */
public final class TestStream {
  private final ClientCall<ProcessingRequest, ProcessingResponse> call;
  private final BlockingQueue<ProcessingResponse> replies = new LinkedBlockingQueue<>();
  private final CompletableFuture<Status> end = new CompletableFuture<>();

  /** A stream of a proxy that calls by an authority, null for the channel's own. */
  public TestStream(Channel channel, @Nullable String authority) {
    CallOptions options = authority == null ? CallOptions.DEFAULT : CallOptions.DEFAULT.withAuthority(authority);
    call = channel.newCall(ProcessMethod.DESCRIPTOR, options);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(ProcessingResponse reply) {
            replies.add(reply);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(Integer.MAX_VALUE);
  }

  TestStream send(ProcessingRequest message) {
    call.sendMessage(message);
    return this;
  }

  /** The head of a request, in full duplex. */
  public TestStream head(String method, String path, boolean bodyless, String... headers) {
    return head(BodySendMode.FULL_DUPLEX_STREAMED, null, method, path, bodyless, headers);
  }

  /** The head of a request; the mode is that of both bodies. */
  TestStream head(
      BodySendMode mode, @Nullable Value subset, String method, String path, boolean bodyless, String... headers) {
    HeaderMap.Builder map = HeaderMap.newBuilder();
    add(map, ":method", method);
    add(map, ":path", path);
    add(map, ":authority", "llm.example");
    for (int i = 0; i < headers.length; i += 2) {
      add(map, headers[i], headers[i + 1]);
    }
    ProcessingRequest.Builder message =
        ProcessingRequest.newBuilder()
            .setRequestHeaders(HttpHeaders.newBuilder().setHeaders(map).setEndOfStream(bodyless))
            .setProtocolConfig(
                ProtocolConfiguration.newBuilder().setRequestBodyMode(mode).setResponseBodyMode(mode));
    if (subset != null) {
      io.kvasir.picker.extproc.Metadata.Builder metadata = io.kvasir.picker.extproc.Metadata.newBuilder();
      metadata.putFilterMetadata(
          "envoy.lb.subset_hint",
          Struct.newBuilder().putFields("x-gateway-destination-endpoint-subset", subset).build());
      message.setMetadataContext(metadata);
    }
    return send(message.build());
  }

  static void add(HeaderMap.Builder map, String name, String value) {
    map.addHeaders(HeaderValue.newBuilder().setKey(name).setRawValue(ByteString.copyFromUtf8(value)));
  }

  public TestStream body(String piece, boolean last) {
    return body(ByteString.copyFromUtf8(piece), last);
  }

  TestStream body(ByteString piece, boolean last) {
    return send(
        ProcessingRequest.newBuilder()
            .setRequestBody(HttpBody.newBuilder().setBody(piece).setEndOfStream(last))
            .build());
  }

  TestStream trailers() {
    return send(ProcessingRequest.newBuilder().setRequestTrailers(HttpTrailers.getDefaultInstance()).build());
  }

  /** The head of a response; {@code served} is the address that has answered, null when the proxy does not say. */
  public TestStream responseHead(int status, @Nullable String served, boolean bodyless, String... headers) {
    HeaderMap.Builder map = HeaderMap.newBuilder();
    add(map, ":status", Integer.toString(status));
    for (int i = 0; i < headers.length; i += 2) {
      add(map, headers[i], headers[i + 1]);
    }
    ProcessingRequest.Builder message =
        ProcessingRequest.newBuilder()
            .setResponseHeaders(HttpHeaders.newBuilder().setHeaders(map).setEndOfStream(bodyless));
    if (served != null) {
      message.setMetadataContext(
          io.kvasir.picker.extproc.Metadata.newBuilder()
              .putFilterMetadata(
                  "envoy.lb",
                  Struct.newBuilder()
                      .putFields(
                          "x-gateway-destination-endpoint-served", Value.newBuilder().setStringValue(served).build())
                      .build()));
    }
    return send(message.build());
  }

  public TestStream responseBody(String piece, boolean last) {
    return send(
        ProcessingRequest.newBuilder()
            .setResponseBody(HttpBody.newBuilder().setBody(ByteString.copyFromUtf8(piece)).setEndOfStream(last))
            .build());
  }

  TestStream responseTrailers() {
    return send(ProcessingRequest.newBuilder().setResponseTrailers(HttpTrailers.getDefaultInstance()).build());
  }

  public void halfClose() {
    call.halfClose();
  }

  void cancel() {
    call.cancel("the client has left", null);
  }

  /** The next reply, waited for. */
  public ProcessingResponse reply() throws InterruptedException {
    ProcessingResponse reply = replies.poll(60, TimeUnit.SECONDS);
    if (reply == null) {
      throw new AssertionError("no reply; the stream's end: " + end.getNow(null));
    }
    return reply;
  }

  /** Whether a reply has come that nobody has taken. */
  boolean hasReply() {
    return !replies.isEmpty();
  }

  /** The next reply, which is to be an answer in the worker's place. */
  ImmediateResponse immediate() throws InterruptedException {
    ProcessingResponse reply = reply();
    if (!reply.hasImmediateResponse()) {
      throw new AssertionError("no immediate response but " + reply);
    }
    return reply.getImmediateResponse();
  }

  /** The reply to the head of the request, which says where it goes. */
  public CommonResponse destined() throws InterruptedException {
    ProcessingResponse reply = reply();
    if (reply.hasImmediateResponse()) {
      throw new AssertionError("answered at once: " + reply.getImmediateResponse());
    }
    CommonResponse response =
        reply.hasRequestBody() ? reply.getRequestBody().getResponse() : reply.getRequestHeaders().getResponse();
    String inMetadata =
        reply.getDynamicMetadata()
            .getFieldsOrThrow("envoy.lb")
            .getStructValue()
            .getFieldsOrThrow("x-gateway-destination-endpoint")
            .getStringValue();
    if (!inMetadata.equals(set(response.getHeaderMutation()).get("x-gateway-destination-endpoint"))) {
      throw new AssertionError("header and metadata differ: " + reply);
    }
    return response;
  }

  /** Pieces of the request's body until its end. */
  public String echo() throws InterruptedException {
    return echoedBytes().toStringUtf8();
  }

  /** The same as bytes. */
  ByteString echoedBytes() throws InterruptedException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (true) {
      var piece = reply().getRequestBody().getResponse().getBodyMutation().getStreamedResponse();
      all.writeBytes(piece.getBody().toByteArray());
      if (piece.getEndOfStream()) {
        return ByteString.copyFrom(all.toByteArray());
      }
    }
  }

  /** Pieces of the response's body until its end. */
  public String responseEcho() throws InterruptedException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (true) {
      var piece = reply().getResponseBody().getResponse().getBodyMutation().getStreamedResponse();
      all.writeBytes(piece.getBody().toByteArray());
      if (piece.getEndOfStream()) {
        return all.toString(UTF_8);
      }
    }
  }

  /** The headers that a mutation sets. */
  public static Map<String, String> set(HeaderMutation mutation) {
    Map<String, String> set = new TreeMap<>();
    mutation
        .getSetHeadersList()
        .forEach(each -> set.put(each.getHeader().getKey(), each.getHeader().getRawValue().toStringUtf8()));
    return set;
  }

  /** How the stream has ended, waited for. */
  public Status end() throws Exception {
    return end.get(60, TimeUnit.SECONDS);
  }
}
