package io.kvasir.http;

import io.grpc.netty.shaded.io.netty.handler.ssl.ApplicationProtocolConfig;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.JdkSslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SupportedCipherSuiteFilter;
import javax.net.ssl.SSLContext;

/** TLS of gRPC, 1.2 or 1.3. */
public final class GrpcTls {
  private GrpcTls() {}

  /**
   * A listener's TLS.
   *
   * @param clients whether only clients with a certificate are answered
   */
  public static JdkSslContext server(SSLContext context, boolean clients) {
    return of(context, false, clients ? ClientAuth.REQUIRE : ClientAuth.NONE);
  }

  /** A client's TLS. */
  public static JdkSslContext client(SSLContext context) {
    return of(context, true, ClientAuth.NONE);
  }

  private static JdkSslContext of(SSLContext context, boolean client, ClientAuth clients) {
    return new JdkSslContext(
        context,
        client,
        null,
        SupportedCipherSuiteFilter.INSTANCE,
        new ApplicationProtocolConfig(
            ApplicationProtocolConfig.Protocol.ALPN,
            ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
            "h2"),
        clients,
        new String[] {"TLSv1.3", "TLSv1.2"},
        false);
  }
}
