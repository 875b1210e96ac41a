package io.kvasir.http.server;

import com.typesafe.config.ConfigFactory;
import java.util.Optional;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.event.NoLogging;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.settings.ServerSettings;
import org.apache.pekko.stream.ActorAttributes;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Materializer;
import org.apache.pekko.stream.SystemMaterializer;
import org.apache.pekko.stream.TLSProtocol.SslTlsInbound;
import org.apache.pekko.stream.TLSProtocol.SslTlsOutbound;
import org.apache.pekko.stream.javadsl.BidiFlow;
import org.apache.pekko.stream.javadsl.Flow;

/** Pekko's HTTP layer as the server uses it: only its parser and its renderer. Thread-safe. */
final class HttpLayer {
  private static final String SETTINGS =
      """
      pekko.http.server {
        server-header = kvasir
        # Ours run outside the layer: a prefill may take minutes.
        request-timeout = 0 s
        idle-timeout = infinite
        # HTTP/1.0 clients may leave Host out.
        default-host-header = kvasir
        # Targets are passed on as they came.
        raw-request-uri-header = on
        parsing {
          modeled-header-parsing = off
          uri-parsing-mode = relaxed
          illegal-header-warnings = off
          # The limits are HeadLines' and ChunkedBody's; these let through what they accept.
          max-uri-length = 64k
          max-header-name-length = 64k
          max-header-value-length = 64k
          max-header-count = 1024
          max-chunk-size = 1m
          # Bodies are measured where they are gathered.
          max-content-length = infinite
        }
      }
      """;

  private final Application application;
  private final Materializer materializer;
  private final Attributes attributes;
  private final BidiFlow<HttpResponse, SslTlsOutbound, SslTlsInbound, HttpRequest, NotUsed> layer;

  /** What answers a connection's requests. */
  @FunctionalInterface
  interface Application {
    Flow<HttpRequest, HttpResponse, NotUsed> on(ClientConnection connection);
  }

  HttpLayer(ActorSystem<?> system, Application application) {
    this.application = application;
    this.materializer = SystemMaterializer.get(system).materializer();
    this.attributes = ActorAttributes.dispatcher(CallerDispatcher.in(system));
    ServerSettings settings =
        ServerSettings.create(ConfigFactory.parseString(SETTINGS).withFallback(system.settings().config()));
    this.layer = Http.get(system).serverLayer(settings, Optional.empty(), NoLogging.getInstance());
  }

  /** Starts a connection's stream. */
  void materialize(ClientConnection connection) {
    layer
        .join(Flow.fromGraph(new SocketStage(connection)))
        .join(application.on(connection))
        .withAttributes(attributes)
        .run(materializer);
  }
}
