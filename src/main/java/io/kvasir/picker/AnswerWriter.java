package io.kvasir.picker;

import com.google.protobuf.ByteString;
import io.kvasir.http.DeferringSink;
import io.kvasir.http.Headers;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.HeaderMutation;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A response on its way back to the proxy that has shown it. In full duplex its pieces are independent of those that
 * came; in the other modes each chunk that came is answered by one, with whatever was written until the next is asked
 * for. One thread at a time.
 */
final class AnswerWriter implements DeferringSink {
  private final BodySendMode mode;
  private final boolean bodyless;
  private final ReplySender proxy;
  private final ResponseInbox inbox;
  private final ByteArrayOutputStream chunk = new ByteArrayOutputStream();
  private @Nullable ModelNameFilter names;
  private HeaderMutation late = HeaderMutation.getDefaultInstance();
  private boolean begun;
  private boolean ended;

  /** The head of a response whose whole body follows at once. */
  private @Nullable ProcessingResponse head;

  AnswerWriter(BodySendMode mode, boolean bodyless, ReplySender proxy, ResponseInbox inbox) {
    this.mode = mode;
    this.bodyless = bodyless;
    this.proxy = proxy;
    this.inbox = inbox;
  }

  private boolean duplex() {
    return mode == BodySendMode.FULL_DUPLEX_STREAMED;
  }

  /** Whether nothing of the response has gone back yet, so that another can take its place. */
  boolean canBeReplaced() {
    return !begun && (duplex() || bodyless || mode == BodySendMode.BUFFERED);
  }

  /** Has the names of models replaced in what follows. */
  void rename(RenamedModel model) {
    names = new ModelNameFilter(this::put, model.served(), model.requested());
  }

  /**
   * Sends the response's head where that has not been answered.
   *
   * @param changes of the head as it came
   * @param length of the body that follows, -1 where it is not known
   */
  void begin(HeaderChanges changes, Headers shown, long length) throws IOException {
    begun = true;
    if (!bodyless && shown.has("content-length")) {
      if (length < 0 || names != null) {
        changes.remove("content-length");
      } else {
        changes.set("content-length", Long.toString(length));
      }
    }
    if (length >= 0 && isRelayedWhole()) {
      head = Replies.responseHead(changes);
    } else if (duplex() || bodyless) {
      proxy.send(Replies.responseHead(changes));
    } else if (mode == BodySendMode.BUFFERED) {
      late = changes.build();
    }
  }

  private boolean isRelayedWhole() {
    return names == null && duplex() && !bodyless;
  }

  /** Writes a whole body, which is not copied. */
  void writeWhole(byte[] body) throws IOException {
    if (!isRelayedWhole()) {
      write(body, 0, body.length);
      return;
    }
    ProcessingResponse trailers =
        inbox.end() == ResponseInbox.End.TRAILERS ? Replies.RESPONSE_TRAILERS_AS_THEY_ARE : null;
    proxy.endTogether(proxy.sendBeginning(Objects.requireNonNull(head), body, Replies::responsePiece, trailers));
    ended = true;
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    offer(bytes, offset, length);
    flush();
  }

  @Override
  public boolean canOffer() {
    return duplex();
  }

  @Override
  public void offer(byte[] bytes, int offset, int length) throws IOException {
    if (names == null) {
      put(bytes, offset, length);
    } else {
      names.write(bytes, offset, length);
    }
  }

  private void put(byte[] bytes, int offset, int length) throws IOException {
    if (bodyless) {
      return;
    }
    if (!duplex()) {
      chunk.write(bytes, offset, length);
      return;
    }
    for (int at = 0; at < length; at += Replies.PIECE_BYTES) {
      int piece = Math.min(Replies.PIECE_BYTES, length - at);
      proxy.send(Replies.responsePiece(ByteString.copyFrom(bytes, offset + at, piece), false));
    }
  }

  @Override
  public boolean isBehind() {
    return duplex() && !proxy.isReady();
  }

  @Override
  public void flush() throws IOException {
    if (isBehind()) {
      proxy.awaitReady();
    }
  }

  /** Answers the chunks that have been read with what was written. */
  void answerChunks() {
    while (!duplex() && inbox.owedChunks() > 0) {
      answerChunk(HeaderMutation.getDefaultInstance());
    }
  }

  private void answerChunk(HeaderMutation changes) {
    try {
      proxy.send(Replies.responseChunk(ByteString.copyFrom(chunk.toByteArray()), changes));
    } catch (IOException gone) {
      // Whoever reads on learns of it.
    }
    chunk.reset();
    inbox.chunkAnswered();
  }

  /** Ends the response. */
  void end() throws IOException {
    if (names != null) {
      names.end();
    }
    if (bodyless || ended) {
      return;
    }
    if (duplex()) {
      proxy.endTogether(
          List.of(
              inbox.end() == ResponseInbox.End.TRAILERS
                  ? Replies.RESPONSE_TRAILERS_AS_THEY_ARE
                  : Replies.responsePiece(ByteString.EMPTY, true)));
      return;
    }
    while (inbox.hasUnanswered()) {
      answerChunk(late);
    }
    if (inbox.end() == ResponseInbox.End.TRAILERS) {
      proxy.send(Replies.RESPONSE_TRAILERS_AS_THEY_ARE);
    }
  }
}
