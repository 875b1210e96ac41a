package io.kvasir.access.token;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.factories.DefaultJWSVerifierFactory;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import io.kvasir.access.Authentication;
import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.Authentication.Reason;
import io.kvasir.access.Authentication.Refused;
import io.kvasir.access.Authentication.Unavailable;
import io.kvasir.access.Caller;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.Limits;
import io.kvasir.access.TokenVerifier;
import io.kvasir.access.token.IssuerKeys.IssuerKey;
import io.kvasir.access.token.IssuerKeys.KeySet;
import io.kvasir.access.token.TokenSettings.Role;
import io.kvasir.access.token.VerifiedTokens.Verified;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import java.text.ParseException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The check of JSON Web Tokens: signature, issuer, audience and time, then the claims that name the caller. Signatures
 * are RSA's and EC's; an unsigned token, or one whose signature uses the public key as a shared secret, is refused by
 * its algorithm. A token is verified once and remembered until it expires or the issuer's keys change. Thread-safe;
 * never waits: half of the processors verify at a time, and keys are read in the background.
 */
public final class JwtVerifier implements TokenVerifier, AutoCloseable {
  private static final Set<JWSAlgorithm> ALGORITHMS =
      Set.of(
          JWSAlgorithm.RS256, JWSAlgorithm.RS384, JWSAlgorithm.RS512, JWSAlgorithm.PS256, JWSAlgorithm.PS384,
          JWSAlgorithm.PS512, JWSAlgorithm.ES256, JWSAlgorithm.ES384, JWSAlgorithm.ES512);
  private static final Duration MIN_REFRESH_INTERVAL = Duration.ofSeconds(30);
  private static final int MAX_REMEMBERED = 20_000;
  private static final int MAX_LENGTH = 16 << 10;
  private static final int PARTS = 3;

  /** Begins the ids of tokens' callers, and no key's: nobody takes a key's place by a claim. */
  private static final String ID_PREFIX = "token:";
  private static final Pattern ID = Pattern.compile("[!-~]{1,256}");
  private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}");

  private static final Refused NO_TOKEN =
      new Refused(
          Reason.UNKNOWN,
          "This is neither a key of this router nor a token (JWT); check that it is whole, or get another.");
  private static final Refused EXPIRED = new Refused(Reason.EXPIRED, "The token has expired; get another.");
  private static final Unavailable KEYS_UNREAD =
      new Unavailable("The public keys that tokens are checked with are being read; try again shortly.");
  private static final Unavailable BUSY = new Unavailable("Too many tokens are being checked; try again shortly.");

  private final TokenSettings settings;
  private final InstantSource clock;
  private final IssuerKeys keys;
  private final DefaultJWSVerifierFactory verifiers = new DefaultJWSVerifierFactory();
  private final Semaphore processors = new Semaphore(Math.max(1, Runtime.getRuntime().availableProcessors() / 2));

  /** A token is not accepted. */
  private static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1;
    private final transient Authentication answer;

    RefusedException(Authentication answer) {
      super(null, null, false, false);
      this.answer = answer;
    }

    RefusedException(String problem) {
      this(new Refused(Reason.INVALID_TOKEN, "The token " + problem + "."));
    }
  }

  /** A verifier that begins to read the issuer's keys. */
  public JwtVerifier(TokenSettings settings, InstantSource clock, Metrics metrics) {
    this(settings, clock, MIN_REFRESH_INTERVAL, metrics);
  }

  /** With another interval between readings of keys. */
  JwtVerifier(TokenSettings settings, InstantSource clock, Duration minRefreshInterval, Metrics metrics) {
    this.settings = settings;
    this.clock = clock;
    this.keys = new IssuerKeys(settings.keys(), minRefreshInterval, MAX_REMEMBERED, metrics);
  }

  @Override
  public Authentication verify(String token, KeyDigest digest) {
    KeySet current = keys.current();
    Verified known = current == null ? null : current.verified().find(digest);
    if (known != null) {
      return clock.millis() > known.expiryMillis() ? EXPIRED : known.accepted();
    }
    if (token.length() > MAX_LENGTH || token.split("\\.", PARTS + 1).length != PARTS) {
      return NO_TOKEN;
    }
    if (!processors.tryAcquire()) {
      return BUSY;
    }
    try {
      Verified checked = check(token, current);
      if (current != null) {
        current.verified().put(digest, checked);
      }
      return checked.accepted();
    } catch (RefusedException refused) {
      return refused.answer;
    } finally {
      processors.release();
    }
  }

  /** Why new tokens cannot be checked, empty when they can. */
  public Optional<Problem> problem() {
    return keys.problem();
  }

  @Override
  public void close() {
    keys.close();
  }

  private Verified check(String token, @Nullable KeySet current) throws RefusedException {
    SignedJWT jwt;
    JWTClaimsSet claims;
    try {
      jwt = SignedJWT.parse(token);
      claims = jwt.getJWTClaimsSet();
    } catch (ParseException | RuntimeException malformed) {
      throw new RefusedException("is malformed or not signed");
    }
    if (claims == null) {
      throw new RefusedException("has no claims");
    }
    if (!ALGORITHMS.contains(jwt.getHeader().getAlgorithm())) {
      throw new RefusedException("has a signature of another kind than RSA's or EC's");
    }
    long expiry = checkClaims(claims);
    checkSignature(jwt, current);
    return new Verified(new Accepted(caller(claims)), expiry);
  }

  /** Checks for whom and when the token is; returns when it expires, in milliseconds since 1970. */
  @SuppressWarnings("JavaUtilDate") // the library's own
  private long checkClaims(JWTClaimsSet claims) throws RefusedException {
    if (!settings.issuer().equals(claims.getIssuer())) {
      throw new RefusedException("is of another issuer than this router accepts");
    }
    if (claims.getAudience().stream().noneMatch(settings.audiences()::contains)) {
      throw new RefusedException("is for another audience than this router");
    }
    long now = clock.millis();
    long leeway = settings.leeway().toMillis();
    Date expiry = claims.getExpirationTime();
    if (expiry == null) {
      throw new RefusedException("does not say when it expires");
    }
    long end = expiry.getTime() > Long.MAX_VALUE - leeway ? Long.MAX_VALUE : expiry.getTime() + leeway;
    if (now > end) {
      throw new RefusedException(EXPIRED);
    }
    Date start = claims.getNotBeforeTime();
    if (start != null && now < start.getTime() - leeway) {
      throw new RefusedException("is not valid yet");
    }
    return end;
  }

  private void checkSignature(SignedJWT jwt, @Nullable KeySet current) throws RefusedException {
    JWSHeader header = jwt.getHeader();
    if (current == null) {
      throw new RefusedException(KEYS_UNREAD);
    }
    IssuerKey key = key(current.keys(), header);
    if (key == null) {
      if (keys.refresh()) {
        throw new RefusedException(KEYS_UNREAD);
      }
      throw new RefusedException("is signed with a key that its issuer does not publish");
    }
    try {
      if (!jwt.verify(verifiers.createJWSVerifier(header, key.key()))) {
        throw new RefusedException("has a wrong signature");
      }
    } catch (JOSEException unfit) {
      throw new RefusedException("has a signature that does not fit its key");
    }
  }

  /** The key that a header names; without a name, the only one there is. */
  private static @Nullable IssuerKey key(List<IssuerKey> all, JWSHeader header) throws RefusedException {
    for (IssuerKey key : all) {
      boolean named = header.getKeyID() == null ? all.size() == 1 : header.getKeyID().equals(key.id());
      if (named) {
        if (key.algorithm() != null && !key.algorithm().equals(header.getAlgorithm().getName())) {
          throw new RefusedException("has a signature of another kind than its key is for");
        }
        return key;
      }
    }
    return null;
  }

  private Caller caller(JWTClaimsSet claims) throws RefusedException {
    String id = text(claims, settings.claims().id(), ID);
    String tenant = text(claims, settings.claims().tenant(), TENANT);
    Set<String> held = roles(claims.getClaim(settings.claims().roles()));
    for (Role role : settings.roles()) {
      if (role.name().isEmpty() || held.contains(role.name())) {
        Limits limits = settings.tenantLimits().getOrDefault(tenant, Limits.NONE);
        return new Caller(ID_PREFIX + id, tenant, role.grants(tenant), role.limits(), limits);
      }
    }
    throw new RefusedException("has none of the roles that this router knows, in '" + settings.claims().roles() + "'");
  }

  private static String text(JWTClaimsSet claims, String name, Pattern form) throws RefusedException {
    if (claims.getClaim(name) instanceof String text && form.matcher(text).matches()) {
      return text;
    }
    throw new RefusedException("lacks the claim '" + name + "', or it has another form than this router takes");
  }

  private static Set<String> roles(@Nullable Object claim) {
    Set<String> roles = new HashSet<>();
    switch (claim) {
      case String text -> roles.addAll(Arrays.asList(text.split(" ", -1)));
      case Collection<?> list -> list.forEach(each -> roles.add(String.valueOf(each)));
      case null, default -> { }
    }
    return roles;
  }
}
