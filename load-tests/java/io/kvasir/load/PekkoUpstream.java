package io.kvasir.load;

import java.io.IOException;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.http.javadsl.ConnectHttp;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpEntity;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.stream.Materializer;
import org.apache.pekko.stream.OverflowStrategy;
import org.apache.pekko.stream.SystemMaterializer;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.SinkQueueWithCancel;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.javadsl.SourceQueueWithComplete;
import org.apache.pekko.util.ByteString;

/** Pekko HTTP's connection-level client, its connections in a pool of our own. */
final class PekkoUpstream implements Upstream {
  private final ActorSystem<?> system;
  private final Materializer materializer;
  private final int port;
  private final Deque<PooledConnection> idle = new ConcurrentLinkedDeque<>();

  PekkoUpstream(ActorSystem<?> system, int port) {
    this.system = system;
    this.materializer = SystemMaterializer.get(system).materializer();
    this.port = port;
  }

  /** One connection and who waits on it. */
  private final class PooledConnection {
    private final SourceQueueWithComplete<HttpRequest> requests;
    private volatile CompletableFuture<HttpResponse> answer = new CompletableFuture<>();
    private volatile boolean ended;

    PooledConnection() {
      var unused =
          Source.<HttpRequest>queue(1, OverflowStrategy.backpressure())
              .via(Http.get(system).outgoingConnection(ConnectHttp.toHost("127.0.0.1", port)))
              .toMat(Sink.foreach(response -> answer.complete(response)), Keep.both())
              .run(materializer);
      requests = unused.first();
      unused
          .second()
          .whenComplete(
              (done, failure) -> {
                ended = true;
                answer.completeExceptionally(failure == null ? new IOException("the engine left") : failure);
              });
    }
  }

  @Override
  public Reply send(byte[] body) throws Exception {
    PooledConnection line = idle.pollLast();
    while (line != null && line.ended) {
      line = idle.pollLast();
    }
    PooledConnection on = line == null ? new PooledConnection() : line;
    on.answer = new CompletableFuture<>();
    var offered =
        on.requests.offer(
            HttpRequest.POST("/v1/chat/completions")
                .withEntity(HttpEntities.create(ContentTypes.APPLICATION_JSON, body)));
    offered.toCompletableFuture().join();
    HttpResponse response = on.answer.get();
    if (response.entity() instanceof HttpEntity.Strict || response.entity().getContentLengthOption().isPresent()) {
      byte[] all =
          response.entity().toStrict(10_000, materializer).toCompletableFuture().get().getData().toArrayUnsafe();
      idle.addLast(on);
      return new WholeReply(all);
    }
    return new StreamReply(on, response.entity().getDataBytes().runWith(Sink.queue(), materializer));
  }

  private record WholeReply(byte[] readAll) implements Reply {
    @Override
    public boolean isStreaming() {
      return false;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private final class StreamReply implements Reply {
    private final PooledConnection line;
    private final SinkQueueWithCancel<ByteString> pieces;
    private boolean ended;

    StreamReply(PooledConnection line, SinkQueueWithCancel<ByteString> pieces) {
      this.line = line;
      this.pieces = pieces;
    }

    @Override
    public boolean isStreaming() {
      return true;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws Exception {
      Optional<ByteString> piece = pieces.pull().toCompletableFuture().get();
      if (piece.isEmpty()) {
        ended = true;
        idle.addLast(line);
        return -1;
      }
      // Events are far shorter than the buffer.
      return piece.get().copyToArray(bytes, offset, length);
    }

    @Override
    public byte[] readAll() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      if (!ended) {
        pieces.cancel();
        line.requests.complete();
      }
    }
  }

  @Override
  public void close() {
    idle.forEach(line -> line.requests.complete());
  }
}
