package io.kvasir.http.server;

import io.kvasir.http.ChannelLoop;
import io.kvasir.load.Upstream;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.MediaTypes;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Materializer;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.SourceShape;
import org.apache.pekko.stream.SystemMaterializer;
import org.apache.pekko.stream.javadsl.Flow;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.apache.pekko.util.ByteString;

/**
 * The relay as Pekko means it: the answer's body is a source that a virtual thread fills from the engine. Either one
 * element per read, or all that was read while the client was slow. To be compared with the direct relay.
 */
public final class StreamRelay {
  private static final int MAX_BODY = 64 << 20;

  /** Most that waits for a slow client, in bytes. */
  private static final int MAX_WAITING = 64 << 10;

  private final Upstream upstream;
  private final boolean coalescing;
  private final Materializer materializer;

  private StreamRelay(ActorSystem<?> system, Upstream upstream, boolean coalescing) {
    this.upstream = upstream;
    this.coalescing = coalescing;
    this.materializer = SystemMaterializer.get(system).materializer();
  }

  /** On the front door's own transport. */
  public static HttpServer start(ActorSystem<?> system, Upstream upstream, boolean coalescing) throws IOException {
    StreamRelay relay = new StreamRelay(system, upstream, coalescing);
    Duration never = Duration.ofDays(1);
    return HttpServer.start(
        system,
        HttpSettings.at("127.0.0.1", 0).withTimeouts(never, never, never, never),
        exchange -> {
          throw new IllegalStateException("the relay answers");
        },
        new ChannelLoop("data-path", ChannelLoop.defaultThreads()),
        new Metrics(new PrometheusRegistry()),
        NanoClock.SYSTEM,
        relay::onFrontDoor);
  }

  /** The relay, which tells the connection where requests begin and answers end. */
  private Flow<HttpRequest, HttpResponse, NotUsed> onFrontDoor(ClientConnection connection) {
    return Flow.of(HttpRequest.class)
        .map(
            request -> {
              connection.requestBegun();
              return request;
            })
        .via(flow())
        .map(answer -> endNoted(connection, answer));
  }

  private static HttpResponse endNoted(ClientConnection connection, HttpResponse answer) {
    if (answer.entity().isStrict()) {
      connection.expectResponseEnd();
      return answer;
    }
    Source<ByteString, ?> body =
        answer.entity().getDataBytes().concat(
            Source.lazySource(
                () -> {
                  connection.expectResponseEnd();
                  return Source.empty();
                }));
    return answer.withEntity(HttpEntities.createChunked(answer.entity().getContentType(), body));
  }

  /** The same relay behind any of Pekko's servers. */
  public static Flow<HttpRequest, HttpResponse, NotUsed> flow(
      ActorSystem<?> system, Upstream upstream, boolean coalescing) {
    return new StreamRelay(system, upstream, coalescing).flow();
  }

  private Flow<HttpRequest, HttpResponse, NotUsed> flow() {
    return Flow.of(HttpRequest.class).mapAsync(1, this::answer);
  }

  private CompletableFuture<HttpResponse> answer(HttpRequest request) {
    CompletableFuture<HttpResponse> answer = new CompletableFuture<>();
    Thread.startVirtualThread(
        () -> {
          try {
            byte[] body =
                request.entity().toStrict(30_000, MAX_BODY, materializer).toCompletableFuture().get().getData()
                    .toArrayUnsafe();
            Upstream.Reply reply = upstream.send(body);
            if (reply.isStreaming()) {
              Feed feed = new Feed(reply);
              answer.complete(
                  HttpResponse.create()
                      .withEntity(
                          HttpEntities.createChunked(
                              ContentTypes.create(
                                  MediaTypes.TEXT_EVENT_STREAM),
                              Source.fromGraph(feed))));
              feed.run();
            } else {
              answer.complete(
                  HttpResponse.create()
                      .withEntity(
                          HttpEntities.create(
                              ContentTypes.APPLICATION_JSON, ByteString.fromArrayUnsafe(reply.readAll()))));
            }
          } catch (Exception e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  /** The source, and the thread that fills it. */
  private final class Feed extends GraphStage<SourceShape<ByteString>> {
    private final Outlet<ByteString> out = Outlet.create("Feed.out");
    private final SourceShape<ByteString> shape = SourceShape.of(out);
    private final CompletableFuture<AsyncCallback<ByteString>> started = new CompletableFuture<>();
    private final Upstream.Reply reply;

    /** One element at a time, or as many bytes as may wait. */
    private final Semaphore room = new Semaphore(coalescing ? MAX_WAITING : 1);

    Feed(Upstream.Reply reply) {
      this.reply = reply;
    }

    void run() throws Exception {
      AsyncCallback<ByteString> arrived = started.get();
      byte[] buffer = new byte[8 << 10];
      try (reply) {
        for (int n = reply.read(buffer, 0, buffer.length); n >= 0; n = reply.read(buffer, 0, buffer.length)) {
          room.acquire(coalescing ? n : 1);
          arrived.invoke(ByteString.fromArrayUnsafe(Arrays.copyOf(buffer, n)));
        }
      }
      arrived.invoke(ByteString.emptyByteString());
    }

    @Override
    public SourceShape<ByteString> shape() {
      return shape;
    }

    @Override
    public GraphStageLogic createLogic(Attributes attributes) {
      return new GraphStageLogic(shape) {
        private ByteString waiting = ByteString.emptyByteString();
        private boolean ended;

        {
          setHandler(
              out,
              new AbstractOutHandler() {
                @Override
                public void onPull() {
                  offer();
                }
              });
        }

        @Override
        public void preStart() {
          started.complete(createAsyncCallback(this::arrived));
        }

        @Override
        public void postStop() {
          reply.close();
          room.release(MAX_WAITING);
        }

        private void arrived(ByteString bytes) {
          if (bytes.isEmpty()) {
            ended = true;
          } else {
            waiting = waiting.concat(bytes);
          }
          if (isAvailable(out)) {
            offer();
          }
        }

        private void offer() {
          if (!waiting.isEmpty()) {
            ByteString all = waiting;
            waiting = ByteString.emptyByteString();
            push(out, all);
            room.release(coalescing ? all.size() : 1);
          } else if (ended) {
            completeStage();
          }
        }
      };
    }
  }
}
