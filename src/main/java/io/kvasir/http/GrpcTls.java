package io.kvasir.http;

import io.grpc.netty.shaded.io.netty.handler.ssl.ApplicationProtocolConfig;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.JdkSslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SupportedCipherSuiteFilter;
import javax.net.ssl.SSLContext;

/** TLS of gRPC listeners. */
public final class GrpcTls {
  private GrpcTls() {}

  /**
   * A server's TLS, TLS 1.2 or 1.3.
   *
   * @param clients whether only clients with a certificate are answered
   */
  public static JdkSslContext server(SSLContext context, boolean clients) {
    return new JdkSslContext(
        context,
        false,
        null,
        SupportedCipherSuiteFilter.INSTANCE,
        new ApplicationProtocolConfig(
            ApplicationProtocolConfig.Protocol.ALPN,
            ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
            "h2"),
        clients ? ClientAuth.REQUIRE : ClientAuth.NONE,
        new String[] {"TLSv1.3", "TLSv1.2"},
        false);
  }
}
