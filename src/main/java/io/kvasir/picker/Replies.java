package io.kvasir.picker;

import com.google.protobuf.ByteString;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import io.kvasir.picker.extproc.BodyMutation;
import io.kvasir.picker.extproc.BodyResponse;
import io.kvasir.picker.extproc.CommonResponse;
import io.kvasir.picker.extproc.HeaderMutation;
import io.kvasir.picker.extproc.HeadersResponse;
import io.kvasir.picker.extproc.HttpStatus;
import io.kvasir.picker.extproc.ImmediateResponse;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.picker.extproc.StreamedBodyResponse;
import io.kvasir.picker.extproc.TrailersResponse;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The messages that a proxy is sent. */
final class Replies {
  /** The longest body of one message that every proxy takes. */
  static final int PIECE_BYTES = 62_000;

  static final ProcessingResponse REQUEST_HEAD_AS_IT_IS =
      ProcessingResponse.newBuilder().setRequestHeaders(HeadersResponse.getDefaultInstance()).build();
  static final ProcessingResponse REQUEST_BODY_AS_IT_IS =
      ProcessingResponse.newBuilder().setRequestBody(BodyResponse.getDefaultInstance()).build();
  static final ProcessingResponse REQUEST_TRAILERS_AS_THEY_ARE =
      ProcessingResponse.newBuilder().setRequestTrailers(TrailersResponse.getDefaultInstance()).build();
  static final ProcessingResponse RESPONSE_BODY_AS_IT_IS =
      ProcessingResponse.newBuilder().setResponseBody(BodyResponse.getDefaultInstance()).build();
  static final ProcessingResponse RESPONSE_TRAILERS_AS_THEY_ARE =
      ProcessingResponse.newBuilder().setResponseTrailers(TrailersResponse.getDefaultInstance()).build();

  private Replies() {}

  /** The head of a request that goes to the endpoints of a destination. */
  static ProcessingResponse requestHead(HeaderChanges changes, String destination) {
    return ProcessingResponse.newBuilder()
        .setRequestHeaders(
            HeadersResponse.newBuilder()
                .setResponse(
                    CommonResponse.newBuilder().setHeaderMutation(changes.build()).setClearRouteCache(true)))
        .setDynamicMetadata(metadata(destination))
        .build();
  }

  /** The whole body of a request together with its head; null where the body is to stay as it is. */
  static ProcessingResponse requestBody(HeaderChanges changes, String destination, @Nullable ByteString body) {
    CommonResponse.Builder response =
        CommonResponse.newBuilder().setHeaderMutation(changes.build()).setClearRouteCache(true);
    if (body != null) {
      response.setBodyMutation(BodyMutation.newBuilder().setBody(body));
    }
    return ProcessingResponse.newBuilder()
        .setRequestBody(BodyResponse.newBuilder().setResponse(response))
        .setDynamicMetadata(metadata(destination))
        .build();
  }

  private static Struct metadata(String destination) {
    Struct own =
        Struct.newBuilder()
            .putFields(RoutingHeaders.DESTINATION, Value.newBuilder().setStringValue(destination).build())
            .build();
    return Struct.newBuilder()
        .putFields(RoutingHeaders.METADATA, Value.newBuilder().setStructValue(own).build())
        .build();
  }

  /** A piece of a request's body; {@code last} ends it. */
  static ProcessingResponse requestPiece(ByteString piece, boolean last) {
    return ProcessingResponse.newBuilder().setRequestBody(streamed(piece, last)).build();
  }

  /** A piece of a response's body; {@code last} ends it. */
  static ProcessingResponse responsePiece(ByteString piece, boolean last) {
    return ProcessingResponse.newBuilder().setResponseBody(streamed(piece, last)).build();
  }

  private static BodyResponse streamed(ByteString piece, boolean last) {
    return BodyResponse.newBuilder()
        .setResponse(
            CommonResponse.newBuilder()
                .setBodyMutation(
                    BodyMutation.newBuilder()
                        .setStreamedResponse(
                            StreamedBodyResponse.newBuilder().setBody(piece).setEndOfStream(last))))
        .build();
  }

  /** The head of a response. */
  static ProcessingResponse responseHead(HeaderChanges changes) {
    return ProcessingResponse.newBuilder()
        .setResponseHeaders(
            HeadersResponse.newBuilder()
                .setResponse(CommonResponse.newBuilder().setHeaderMutation(changes.build())))
        .build();
  }

  /** A chunk of a response in place of the one that came, with changes of the head where the chunk is all of it. */
  static ProcessingResponse responseChunk(ByteString body, HeaderMutation changes) {
    return ProcessingResponse.newBuilder()
        .setResponseBody(
            BodyResponse.newBuilder()
                .setResponse(
                    CommonResponse.newBuilder()
                        .setHeaderMutation(changes)
                        .setBodyMutation(BodyMutation.newBuilder().setBody(body))))
        .build();
  }

  /** The answer to a request that reaches no worker. */
  static ProcessingResponse immediate(Response answer, ByteString body) {
    HeaderChanges headers = new HeaderChanges();
    Headers own = answer.headers();
    for (int i = 0; i < own.size(); i++) {
      headers.set(own.name(i).toLowerCase(Locale.ROOT), own.value(i));
    }
    return ProcessingResponse.newBuilder()
        .setImmediateResponse(
            ImmediateResponse.newBuilder()
                .setStatus(HttpStatus.newBuilder().setCode(answer.status()))
                .setHeaders(headers.build())
                .setBody(body)
                .setDetails("kvasir"))
        .build();
  }
}
