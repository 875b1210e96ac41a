package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.Headers;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What requests claim when the workers are full. The class is what the client asks for, by header, by the objective of
 * a Kubernetes gateway's request, or by {@code service_tier}, or else that of its profile; never a more urgent one than
 * its key allows. Thread-safe.
 */
final class Claims {
  /** The header that names a class. */
  static final String CLASS = "X-Router-Class";

  /** The same of SMG's clients. */
  private static final String SMG_CLASS = "X-Smg-Priority";

  private final AdmissionSettings settings;

  Claims(AdmissionSettings settings) {
    this.settings = settings;
  }

  /**
   * A request's claim; null when none ever waits.
   *
   * @param program the request's, null when it has none
   */
  @Nullable Claim of(InboundRequest inbound, ApiRequest request, RequestContext context, @Nullable String program)
      throws ApiException {
    ServiceClass its = classOf(inbound, request, context);
    if (its == null) {
      return null;
    }
    return new Claim(
        its,
        context.facts().tenant(),
        inbound.caller().grants().weight(),
        program,
        inbound.exchange().body().length,
        0,
        0,
        settings.of(its).preemptions());
  }

  /** A request's class; null when none ever waits. */
  @Nullable ServiceClass classOf(InboundRequest inbound, ApiRequest request, RequestContext context)
      throws ApiException {
    return settings.on()
        ? requested(inbound, request, context).atMost(inbound.caller().grants().highestClass())
        : null;
  }

  private ServiceClass requested(InboundRequest inbound, ApiRequest request, RequestContext context)
      throws ApiException {
    Headers headers = inbound.exchange().headers();
    String own = headers.first(CLASS);
    if (own != null) {
      ServiceClass named = named(own);
      if (named == null) {
        throw new ApiException(
            ApiError.badField(
                CLASS, "unknown_class", "There is no class '%s'; there are: %s.".formatted(own, allNames())));
      }
      return named;
    }
    String others = headers.first(SMG_CLASS);
    ServiceClass inOtherWords = inbound.handover() == null ? null : ofObjective(headers);
    if (inOtherWords == null && others != null) {
      inOtherWords = named(others);
    }
    if (inOtherWords == null) {
      inOtherWords = ofTier(request.body());
    }
    return inOtherWords != null
        ? inOtherWords
        : settings.profileClasses().getOrDefault(context.profile().name(), ServiceClass.DEFAULT);
  }

  /** The class of the priority of an objective, as llm-d has them: below 0 is what may be shed; 0 says nothing. */
  private static @Nullable ServiceClass ofObjective(Headers headers) {
    String priority = headers.first(ProxiedRequest.PRIORITY);
    int sign = priority == null ? 0 : Integer.signum(Integer.parseInt(priority));
    return sign == 0 ? null : sign < 0 ? ServiceClass.BULK : ServiceClass.INTERACTIVE;
  }

  private static @Nullable ServiceClass named(String text) {
    for (ServiceClass each : ServiceClass.values()) {
      if (each.label().equalsIgnoreCase(text.strip())) {
        return each;
      }
    }
    return null;
  }

  private static String allNames() {
    return Arrays.stream(ServiceClass.values()).map(ServiceClass::label).collect(Collectors.joining(", "));
  }

  /** The class of OpenAI's tiers; those that leave the choice to the server are none. */
  private static @Nullable ServiceClass ofTier(@Nullable JsonNode body) {
    JsonNode tier = body == null ? null : body.get("service_tier");
    if (tier == null || !tier.isTextual()) {
      return null;
    }
    return switch (tier.textValue().toLowerCase(Locale.ROOT)) {
      case "flex" -> ServiceClass.BULK;
      case "priority", "fast" -> ServiceClass.INTERACTIVE;
      default -> null;
    };
  }
}
