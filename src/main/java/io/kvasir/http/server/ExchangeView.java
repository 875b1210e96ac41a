package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import java.io.IOException;
import java.net.InetAddress;

/** Another exchange but for what a view of it says otherwise. Thread-safe as that is. */
public interface ExchangeView extends Exchange {
  /** The exchange that is viewed. */
  Exchange exchange();

  @Override
  default String method() {
    return exchange().method();
  }

  @Override
  default String target() {
    return exchange().target();
  }

  @Override
  default Headers headers() {
    return exchange().headers();
  }

  @Override
  default byte[] body() {
    return exchange().body();
  }

  @Override
  default RequestMemory memory() {
    return exchange().memory();
  }

  @Override
  default InetAddress client() {
    return exchange().client();
  }

  @Override
  default Cancellation cancellation() {
    return exchange().cancellation();
  }

  @Override
  default ByteSink sendHead(int status, Headers headers) throws IOException {
    return exchange().sendHead(status, headers);
  }
}
