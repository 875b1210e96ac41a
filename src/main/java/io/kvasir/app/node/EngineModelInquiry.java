package io.kvasir.app.node;

import io.kvasir.discovery.ModelInquiry;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineInquiry;
import io.kvasir.engines.ServedModel;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** The models that engines serve, by their own word, with the keys and certificates that this node has for them. */
final class EngineModelInquiry implements ModelInquiry, AutoCloseable {
  private final HttpCalls calls;
  private final EngineInquiry inquiry;
  private final PodKeys keys;

  EngineModelInquiry(Duration timeout, @Nullable SSLContext tls, PodKeys keys) {
    this.calls = new HttpCalls(timeout, tls);
    this.inquiry = new EngineInquiry(calls, timeout);
    this.keys = keys;
  }

  @Override
  public List<String> models(URI engine) throws IOException, InterruptedException {
    EngineDescription described = inquiry.describe(engine, keys.of(engine));
    return Stream.concat(
            described.baseModels().stream().map(ServedModel::name), described.adapters().stream())
        .toList();
  }

  @Override
  public void close() {
    calls.close();
  }
}
