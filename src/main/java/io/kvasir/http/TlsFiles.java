package io.kvasir.http;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The PEM files of one side of TLS connections, a listener's or a client's.
 *
 * @param certificate this side's certificate with its chain, null for none
 * @param key the certificate's private key (PKCS #8, or #1 for RSA, without a password), null without a certificate
 * @param authorities certificates of the authorities that the other side's certificate has to be issued by; null for
 *     those of the JVM at a client, and for no client certificates at a listener
 * @param verification what the other side's certificate has to prove
 * @param reload how often the files are checked for changes
 */
public record TlsFiles(
    @Nullable Path certificate,
    @Nullable Path key,
    @Nullable Path authorities,
    Verification verification,
    Duration reload) {
  /** What the other side's certificate has to prove. */
  public enum Verification {
    /** That an authority issued it for the host of the connection. */
    HOST,
    /** That an authority issued it. */
    AUTHORITY,
    /** Nothing: a connection can be intercepted. */
    NONE
  }
}
