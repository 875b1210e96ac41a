package io.kvasir.gateway.request;

import io.kvasir.access.Caller;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Profiles;
import java.util.function.Consumer;

/** Chooses the profile of requests as they arrive. Thread-safe. */
final class ProfileResolver {
  private final LiveProfiles profiles;
  private final Consumer<String> late;

  /** Over these profiles; {@code late} is given the name of one whose preparers could not wait for all they need. */
  ProfileResolver(LiveProfiles profiles, Consumer<String> late) {
    this.profiles = profiles;
    this.late = late;
  }

  RequestContext resolve(ApiPath api, InboundRequest inbound, ApiRequest request, String model) throws ApiException {
    Profiles current = profiles.current();
    Headers headers = inbound.exchange().headers();
    Caller caller = inbound.caller();
    String requested = RequestHints.of(headers).profile();
    if (requested != null && !current.choice().header()) {
      throw new ApiException(
          ApiError.badField(
              RequestHints.PROFILE,
              "profile_not_allowed",
              "This router does not let clients choose a routing profile: leave out the header "
                  + RequestHints.PROFILE + "."));
    }
    String granted = caller.grants().profile();
    if (requested != null && granted != null && !requested.equals(granted)) {
      throw new ApiException(
          ApiError.badField(
              RequestHints.PROFILE,
              "profile_not_allowed",
              "The requests of this key go by the profile %s: leave out the header %s.".formatted(
                  granted, RequestHints.PROFILE)));
    }
    HttpRequestFacts facts =
        new HttpRequestFacts(
            headers, api, request.body(), inbound.exchange().client(), caller, current.choice().tenantHeaders(),
            inbound.handover() != null);
    String chosen = granted != null ? granted : current.choice().of(requested, facts::tenant, model);
    Profile profile = current.named(chosen);
    if (profile == null) {
      throw new ApiException(
          ApiError.badField(
              RequestHints.PROFILE,
              "unknown_profile",
              "There is no profile '%s'; there are: %s."
                  .formatted(chosen, String.join(", ", current.byName().keySet()))));
    }
    return new RequestContext(profile, model, facts, late);
  }
}
