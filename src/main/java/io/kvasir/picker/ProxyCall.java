package io.kvasir.picker;

import com.google.protobuf.ByteString;
import com.google.protobuf.Struct;
import com.google.protobuf.UnsafeByteOperations;
import com.google.protobuf.Value;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodCall;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.http.server.ContentCoding;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A request's way to its worker by the gateway's proxy: sending it is telling the proxy where it goes and giving the
 * body back; its response is what the proxy shows of it. One thread sends; any may abort.
 */
final class ProxyCall implements PodCall {
  private static final Value NONE = Value.getDefaultInstance();

  private final ShownRequest shown;
  private final PlainRequest plain;
  private final ProxyHead head;
  private final PickedEndpoint placement;
  private final ReplySender proxy;
  private final ResponseInbox inbox;
  private final PickerSettings settings;
  private final UnseenBookings unseen;
  private final PodKeys keys;
  private final PickerMetrics metrics;
  private final BooleanSupplier claim;

  private @Nullable PodRequest request;
  private @Nullable ProxyResponse response;

  /**
   * A call of a stream.
   *
   * @param plain the request as the gateway has read it
   * @param claim asked before the proxy is told where the request goes: false when it has answered by itself
   */
  ProxyCall(
      ShownRequest shown, PlainRequest plain, PickedEndpoint placement, ReplySender proxy, ResponseInbox inbox,
      PickerServices services, BooleanSupplier claim) {
    this.shown = shown;
    this.plain = plain;
    this.head = shown.head();
    this.placement = placement;
    this.proxy = proxy;
    this.inbox = inbox;
    this.settings = services.settings();
    this.unseen = services.unseen();
    this.keys = services.keys();
    this.metrics = services.metrics();
    this.claim = claim;
  }

  /** The call of a request that is placed. */
  ProxyCall of(PodRequest podRequest) {
    request = keys.authorized(podRequest);
    return this;
  }

  /** The response, null when the proxy has not shown it. */
  @Nullable ProxyResponse response() {
    return response;
  }

  @Override
  public PodResponse send(Runnable sent) throws PodException {
    try {
      direct(Objects.requireNonNull(request));
      sent.run();
    } catch (IOException gone) {
      throw new PodException(Kind.ABORTED, "the proxy's stream has ended", gone);
    }
    if (settings.earlyClose()) {
      inbox.end(ResponseInbox.End.UNSEEN);
    } else if (head.decidesOnHead()) {
      proxy.request();
    }
    ProcessingRequest response = inbox.awaitHead();
    if (response == null) {
      unseen();
      return new ProxyResponse(200, Headers.EMPTY, 0, inbox, null);
    }
    return respond(response);
  }

  private void unseen() {
    placement.unseen(unseen);
    metrics.responseUnseen();
  }

  private void direct(PodRequest to) throws IOException {
    // Only what the router has changed goes on in another form than it came in.
    boolean same = Arrays.equals(to.body(), plain.body());
    byte[] body = same ? shown.body() : to.body();
    Headers headers = placement.withSteps(same ? coded(to.headers()) : to.headers());
    HeaderChanges changes = HeaderChanges.between(head.headers(), headers);
    for (String name : RoutingHeaders.RESERVED) {
      if (!headers.has(name)) {
        changes.remove(name);
      }
    }
    String destination = placement.destination();
    if (!claim.getAsBoolean()) {
      throw new IOException("the proxy has answered the request by itself");
    }
    changes.set(RoutingHeaders.DESTINATION, destination);
    if (head.path() != null && !head.path().equals(to.target())) {
      changes.set(":path", to.target());
    }
    if (head.decidesOnHead()) {
      sendLast(List.of(Replies.requestHead(changes, destination)));
      return;
    }
    changes.set("content-length", Integer.toString(body.length));
    if (head.waitsForHeadReply()) {
      ByteString changed = same ? null : UnsafeByteOperations.unsafeWrap(body);
      sendLast(List.of(Replies.requestBody(changes, destination, changed)));
      return;
    }
    sendLast(
        proxy.sendBeginning(
            Replies.requestHead(changes, destination), body, Replies::requestPiece,
            shown.trailers() ? Replies.REQUEST_TRAILERS_AS_THEY_ARE : null));
  }

  /** Headers with the coding of the body that came. */
  private Headers coded(Headers headers) {
    String coding = head.headers().first(ContentCoding.HEADER);
    return coding == null ? headers : headers.toBuilder().set(ContentCoding.HEADER, coding).build();
  }

  /** Sends the last messages of the request. */
  private void sendLast(List<ProcessingResponse> messages) throws IOException {
    if (settings.earlyClose()) {
      proxy.endTogether(messages);
    } else {
      proxy.sendTogether(messages);
    }
  }

  private PodResponse respond(ProcessingRequest message) throws PodException {
    Struct metadata = message.getMetadataContext().getFilterMetadataMap().get(RoutingHeaders.METADATA);
    String served =
        metadata == null
            ? ""
            : Endpoints.canonical(metadata.getFieldsOrDefault(RoutingHeaders.SERVED, NONE).getStringValue());
    if (!served.isEmpty() && !served.equals(placement.chosenAddress())) {
      metrics.servedElsewhere(placement.served(served));
    }
    Headers headers = ProxyHead.headers(message.getResponseHeaders().getHeaders());
    boolean whole = message.getResponseHeaders().getEndOfStream();
    boolean duplex = head.duplexResponse();
    if (!duplex && !whole) {
      try {
        proxy.send(Replies.responseHead(new HeaderChanges()));
      } catch (IOException gone) {
        throw new PodException(Kind.ABORTED, "the proxy's stream has ended", gone);
      }
    }
    boolean hidden = !whole && head.responseBody() == BodySendMode.NONE;
    if (hidden) {
      inbox.end(ResponseInbox.End.UNSEEN);
      unseen();
    }
    ProxyResponse shownResponse =
        new ProxyResponse(
            ProxyHead.status(message.getResponseHeaders().getHeaders()),
            // They would promise a body, whose absence would be a failure.
            hidden ? Headers.EMPTY : headers,
            whole || hidden ? 0 : ProxyHead.contentLength(message.getResponseHeaders().getHeaders()),
            inbox,
            new AnswerWriter(head.responseBody(), whole, proxy, inbox));
    shownResponse.served(served);
    response = shownResponse;
    return shownResponse;
  }

  @Override
  public void abort() {
    inbox.end(ResponseInbox.End.ABORTED);
  }
}
