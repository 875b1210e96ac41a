package io.kvasir.http;

import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow.Subscription;
import org.jspecify.annotations.Nullable;

/** A response's body in memory, as long as it is not larger than a limit; fails as soon as it is. */
final class LimitedBody implements BodySubscriber<byte[]> {
  private final BodySubscriber<byte[]> body = BodySubscribers.ofByteArray();
  private final long maxBytes;
  private long received;
  private @Nullable Subscription subscription;

  /** The limit was reached before the body's end. */
  static final class TooLargeException extends Exception {
    private static final long serialVersionUID = 1;

    TooLargeException(long maxBytes) {
      super("the body has more than " + maxBytes + " bytes", null, false, false);
    }
  }

  private LimitedBody(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  static BodyHandler<byte[]> handler(long maxBytes) {
    return _ -> new LimitedBody(maxBytes);
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return body.getBody();
  }

  @Override
  public void onSubscribe(Subscription upstream) {
    subscription = upstream;
    body.onSubscribe(upstream);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    if (received > maxBytes) {
      return;
    }
    for (ByteBuffer buffer : buffers) {
      received += buffer.remaining();
    }
    if (received <= maxBytes) {
      body.onNext(buffers);
      return;
    }
    if (subscription != null) {
      subscription.cancel();
    }
    body.onError(new TooLargeException(maxBytes));
  }

  @Override
  public void onError(Throwable failure) {
    body.onError(failure);
  }

  @Override
  public void onComplete() {
    body.onComplete();
  }
}
