package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.ServerCall;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.ContentCoding;
import io.kvasir.http.server.Response;
import io.kvasir.picker.extproc.HttpBody;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One stream of a gateway's proxy: a request, from its head to the last byte of its response. Messages come one at a
 * time on the connection's thread, which must not wait; once the request is complete, a {@link ConnectionThread} has it
 * answered.
 *
 * <p>The proxy is never answered by an error of gRPC while the client can still be answered: it would make a 500 of it.
 */
final class ProxyStream extends ServerCall.Listener<ProcessingRequest>
    implements UndecidedStreams.Undecided, PartialMessage.Recipient {
  /** Who was first to say what becomes of the request. */
  private enum Decider {
    NOBODY,
    PICKER,
    /** The picker stops, and has answered what waited. */
    STOP,
    /** The proxy itself has answered before the picker did: the response is let through. */
    PROXY
  }

  private static final Logger LOG = LoggerFactory.getLogger(ProxyStream.class);

  private final PickerServices services;
  private final PartialMessage partial;
  private final int port;
  private final @Nullable String authority;
  private final ConnectionThread thread;
  private final ReplySender proxy;
  private final ResponseInbox inbox;
  private final MemoryBudget.Account memory;
  private final CancellationSource cancellation = new CancellationSource();
  private final AtomicReference<@Nullable String> outcome = new AtomicReference<>();
  private final AtomicBoolean over = new AtomicBoolean();
  private final AtomicReference<Decider> decider = new AtomicReference<>(Decider.NOBODY);

  // Of the connection's thread, which has written it before another begins to read.
  private @Nullable ProxyHead head;
  private @Nullable IncomingBody body;
  private boolean trailers;
  private boolean observed;

  /** Whether nothing of the request is waited for any more, as all of it is there or none is needed. */
  private volatile boolean complete;

  /** The request once it is complete. */
  private volatile @Nullable CompleteRequest request;

  private volatile boolean halfClosed;

  /**
   * A stream that has begun.
   *
   * @param connection the thread of its connection
   * @param port the listening port
   * @param partial what has come of its next message
   */
  ProxyStream(
      ServerCall<ProcessingRequest, ProcessingResponse> call, Executor connection, int port, PartialMessage partial,
      PickerServices services) {
    this.services = services;
    this.port = port;
    this.authority = call.getAuthority();
    this.thread = new ConnectionThread(connection);
    this.proxy = new ReplySender(call, connection, thread);
    this.inbox = new ResponseInbox(proxy, thread);
    this.memory = services.memory().open(shortage -> answer(services.answers().noMemory(head, shortage)));
    services.metrics().streamBegun();
    services.undecided().add(this);
    this.partial = partial;
    partial.begin(this);
    proxy.request();
  }

  @Override
  public void onMessage(ProcessingRequest message) {
    if (!partial.complete()) {
      return;
    }
    if (message.getRequestCase() != ProcessingRequest.RequestCase.REQUEST_BODY) {
      partial.taken();
    }
    if (ProcessMethod.isMalformed(message)) {
      malformed();
      return;
    }
    if (observed || message.getObservabilityMode()) {
      // The proxy shows what passes and takes no reply.
      observed = true;
      partial.taken();
      proxy.request();
      return;
    }
    try {
      switch (message.getRequestCase()) {
        case REQUEST_HEADERS -> head(message);
        case REQUEST_BODY -> body(message.getRequestBody());
        case REQUEST_TRAILERS -> trailers();
        case RESPONSE_HEADERS -> responseHead(message);
        case RESPONSE_BODY -> responseBody(message.getResponseBody());
        case RESPONSE_TRAILERS -> responseTrailers();
        case REQUEST_NOT_SET -> proxy.request();
      }
    } catch (IOException gone) {
      LOG.debug("a proxy's stream has ended: {}", gone.toString());
    }
  }

  @Override
  public void messageTooLong(long bytes) {
    refuse(services.answers().tooLong(head, bytes));
  }

  @Override
  public void noMemoryForMessage(RequestMemory.Shortage shortage) {
    refuse(services.answers().noMemory(head, shortage));
  }

  /** Answers to a message that is not read, where it is not one of the response's. */
  private void refuse(Response.Buffered answer) {
    if (complete) {
      malformed();
    } else {
      answer(answer);
    }
  }

  /** Nothing can be read from here on: the client is answered if it still can be, and the stream ends. */
  private void malformed() {
    over("failed");
    failed();
    proxy.cut();
    onCancel();
  }

  private void head(ProcessingRequest message) throws IOException {
    if (head != null) {
      proxy.request();
      return;
    }
    ProxyHead read = ProxyHead.of(message);
    head = read;
    if (read.decidesOnHead()) {
      complete();
      return;
    }
    body = new IncomingBody(memory, services.settings().limits().maxBodyBytes());
    Response.Buffered refused = services.answers().refusal(read);
    long length = ProxyHead.contentLength(message.getRequestHeaders().getHeaders());
    if (refused != null) {
      answer(refused);
    } else if (length >= 0 && body.isTooLongWith(length)) {
      answer(services.answers().tooLong(read, length));
    } else {
      if (read.waitsForHeadReply()) {
        proxy.send(Replies.REQUEST_HEAD_AS_IT_IS);
      }
      proxy.request();
    }
  }

  private void body(HttpBody part) throws IOException {
    ProxyHead begun = head;
    IncomingBody held = body;
    if (complete || begun == null || held == null) {
      // The end came twice, or the head was enough.
      if (begun != null && begun.decidesOnHead()) {
        proxy.send(Replies.REQUEST_BODY_AS_IT_IS);
      }
      partial.taken();
      proxy.request();
      return;
    }
    if (held.isTooLongWith(part.getBody().size())) {
      answer(services.answers().tooLong(begun, (long) held.size() + part.getBody().size()));
      return;
    }
    held.add(part.getBody(), part.getEndOfStream() || begun.waitsForHeadReply(), this::pieceAdded);
  }

  /** On the connection's thread, or on one of its own where the piece has waited for memory. */
  private void pieceAdded(boolean whole) {
    partial.taken();
    if (whole) {
      complete();
    } else {
      proxy.request();
    }
  }

  private void trailers() throws IOException {
    if (complete || head == null) {
      proxy.send(Replies.REQUEST_TRAILERS_AS_THEY_ARE);
      proxy.request();
    } else {
      trailers = true;
      complete();
    }
  }

  /** Answers the client in the worker's place. */
  private void answer(Response.Buffered response) {
    complete = true;
    proxy.end(Replies.immediate(response, UnsafeByteOperations.unsafeWrap(response.body())));
    memory.close();
    over("answered");
  }

  /** The request is complete: its answer is looked for on a thread that may wait. */
  private void complete() {
    complete = true;
    IncomingBody held = body;
    if (held == null || memory.complete()) {
      if (held != null && !services.settings().earlyClose()) {
        // What comes next is the response, which may be asked for from here without a change of threads.
        proxy.request();
      }
      thread.start("picker", this::run, isBrief());
    } else {
      // It has been cancelled, or refused, while its last piece waited for memory.
      over("cancelled");
    }
  }

  /** Whether reading the request takes so little that its connection may be kept waiting. */
  private boolean isBrief() {
    ProxyHead begun = head;
    IncomingBody held = body;
    return held == null
        || (held.size() <= ConnectionThread.BRIEF_BYTES
            && begun != null
            && !begun.headers().has(ContentCoding.HEADER));
  }

  private void responseHead(ProcessingRequest message) throws IOException {
    if (!decider.compareAndSet(Decider.NOBODY, Decider.PROXY) && !passed()) {
      inbox.head(message, isShort(message));
      return;
    }
    // The proxy has an answer of its own, or another filter: whatever is on its way for the request is of no use.
    complete = true;
    cancellation.cancel();
    memory.close();
    proxy.send(Replies.responseHead(new HeaderChanges()));
    proxy.request();
  }

  /** Whether a response's body is so short that it is read when all of it is there. */
  private boolean isShort(ProcessingRequest message) {
    ProxyHead begun = head;
    long length = ProxyHead.contentLength(message.getResponseHeaders().getHeaders());
    return begun != null && begun.duplexResponse() && length >= 0 && length <= ResponseInbox.SHORT;
  }

  private boolean passed() {
    return decider.get() == Decider.PROXY;
  }

  /** Whether the picker says what becomes of the request, from now on or already. */
  private boolean claim() {
    services.undecided().remove(this);
    return decider.compareAndSet(Decider.NOBODY, Decider.PICKER) || decider.get() == Decider.PICKER;
  }

  @Override
  public void stop() {
    if (decider.compareAndSet(Decider.NOBODY, Decider.STOP)) {
      cancellation.cancel();
      answer(services.answers().stopping(head));
    }
  }

  private void responseBody(HttpBody part) throws IOException {
    if (!passed()) {
      inbox.body(part.getBody(), part.getEndOfStream());
      return;
    }
    proxy.send(
        head == null || head.duplexResponse()
            ? Replies.responsePiece(part.getBody(), part.getEndOfStream())
            : Replies.RESPONSE_BODY_AS_IT_IS);
    proxy.request();
  }

  private void responseTrailers() throws IOException {
    if (passed() || inbox.end() == ResponseInbox.End.UNSEEN) {
      proxy.send(Replies.RESPONSE_TRAILERS_AS_THEY_ARE);
    } else {
      inbox.end(ResponseInbox.End.TRAILERS);
    }
    proxy.request();
  }

  @Override
  public void onReady() {
    proxy.ready();
  }

  @Override
  public void onHalfClose() {
    halfClosed = true;
    ProxyHead begun = head;
    if (begun != null && complete && begun.showsResponse() && inbox.end() == ResponseInbox.End.OPEN) {
      // The client has left, or the response was cut: nothing more will come, and nothing more be heard.
      cancellation.cancel();
      inbox.end(ResponseInbox.End.ABORTED);
    }
    // A proxy that shows no responses has said all, and is answered yet.
    inbox.end(ResponseInbox.End.UNSEEN);
    if (!complete) {
      halfClosedAmidTheRequest(begun);
    } else if (passed() || over.get()) {
      proxy.end();
      over("passed");
    }
  }

  private void halfClosedAmidTheRequest(@Nullable ProxyHead begun) {
    IncomingBody held = body;
    if (begun == null || held == null || (begun.showsResponse() && !held.lastHasCome())) {
      cancellation.cancel();
      memory.close();
      proxy.end();
      over("cancelled");
    } else if (held.end()) {
      // Of proxies that show no responses some do not say which piece is the last.
      complete();
    }
  }

  @Override
  public void onCancel() {
    cancellation.cancel();
    proxy.closedByProxy();
    inbox.end(ResponseInbox.End.ABORTED);
    memory.close();
    if (!complete || passed()) {
      over(passed() ? "passed" : "cancelled");
    }
  }

  private void over(String how) {
    services.undecided().remove(this);
    if (outcome.compareAndSet(null, how)) {
      services.metrics().streamEnded(how);
    }
  }

  /** Has the gateway decide, and takes its answer to the proxy. */
  private void run() {
    try {
      byte[] bytes = body == null ? new byte[0] : body.bytes();
      CompleteRequest whole =
          new CompleteRequest(
              new ShownRequest(Objects.requireNonNull(head), bytes, trailers), port, authority, proxy, inbox, memory,
              cancellation, this::claim, services);
      request = whole;
      over(whole.handle());
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      failed();
      over("failed");
    } catch (Throwable e) {
      LOG.error("a request of a gateway failed", RedactedException.of(e));
      failed();
      over("failed");
    } finally {
      over.set(true);
      cancellation.close();
      memory.close();
      if (halfClosed) {
        proxy.end();
      }
    }
  }

  private boolean isSent() {
    CompleteRequest whole = request;
    return whole != null && whole.isSent();
  }

  private void failed() {
    if (isSent()) {
      proxy.cut();
    } else if (claim()) {
      Response.Buffered error = services.answers().failed(head);
      proxy.end(Replies.immediate(error, UnsafeByteOperations.unsafeWrap(error.body())));
    }
  }
}
