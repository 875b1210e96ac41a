package io.kvasir.load;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.Executors;

/** The JDK's own client. */
final class JdkUpstream implements Upstream {
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();
  private final URI engine;

  JdkUpstream(int port) {
    engine = URI.create("http://127.0.0.1:" + port + "/v1/chat/completions");
  }

  @Override
  public Reply send(byte[] body) throws Exception {
    HttpResponse<InputStream> response =
        client.send(
            HttpRequest.newBuilder(engine)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(body))
                .build(),
            BodyHandlers.ofInputStream());
    InputStream in = response.body();
    return new Reply() {
      @Override
      public boolean isStreaming() {
        return response.headers().firstValue("content-length").isEmpty();
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        return in.read(bytes, offset, length);
      }

      @Override
      public byte[] readAll() throws IOException {
        return in.readAllBytes();
      }

      @Override
      public void close() {
        try {
          in.close();
        } catch (IOException e) {
          System.err.println("closing an answer failed: " + e);
        }
      }
    };
  }

  @Override
  public void close() {
    client.close();
  }
}
