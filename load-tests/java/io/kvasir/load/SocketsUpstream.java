package io.kvasir.load;

import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;

/** Our own client: blocking sockets on virtual threads. */
final class SocketsUpstream implements Upstream {
  private static final Headers HEADERS = Headers.of("Content-Type", "application/json", "Accept", "*/*");

  private final PodClient client =
      new PodClient(PodClient.Settings.defaults(), new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM);
  private final URI engine;

  SocketsUpstream(int port) {
    engine = URI.create("http://127.0.0.1:" + port);
  }

  @Override
  public Reply send(byte[] body) throws Exception {
    PodResponse response =
        client.call(new PodRequest(engine, "POST", "/v1/chat/completions", HEADERS, body)).send();
    return new Reply() {
      @Override
      public boolean isStreaming() {
        return response.contentLength() < 0;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws Exception {
        return response.read(bytes, offset, length);
      }

      @Override
      public byte[] readAll() throws Exception {
        return response.readAll(1 << 20);
      }

      @Override
      public void close() {
        response.close();
      }
    };
  }

  @Override
  public void close() {
    client.close();
  }
}
