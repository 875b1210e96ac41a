package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Caller;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.ApiPath;
import org.jspecify.annotations.Nullable;

/**
 * The isolation of callers whose cached blocks are not everybody's: their requests get the {@code cache_salt} of their
 * group in place of the client's own, in the tree that the prompt is made of and in the body that the engine gets.
 * Thread-safe.
 */
final class CallerIsolation {
  private static final String FIELD = "cache_salt";
  /** The name of the same on SGLang's own inference API. */
  private static final String SGLANG_FIELD = "extra_key";

  private final @Nullable CacheSalts salts;
  private final PromptConversion conversion;

  CallerIsolation(@Nullable CacheSalts salts, PromptConversion conversion) {
    this.salts = salts;
    this.conversion = conversion;
  }

  /**
   * A member that isolates a request.
   *
   * @param field its name
   * @param salt its value
   */
  record Salt(String field, String salt) {
    /** The body with the salt in place of the client's own. */
    byte[] in(byte[] body) {
      return JsonMembers.of(body).withText(field, salt).bytes();
    }
  }

  /** Puts the salt into a request's tree; null where the caller shares blocks, or the API has no prompts. */
  @Nullable Salt isolate(Caller caller, ApiPath api, ApiRequest request) throws ApiException {
    String group = caller.cacheGroup();
    String field = field(api);
    if (group == null || field == null || !(request.body() instanceof ObjectNode body)) {
      return null;
    }
    if (salts == null) {
      // The configuration's check does not let this happen: a caller's blocks are never shared by mistake.
      throw new ApiException(ApiError.of(503, "no_isolation_secret",
          "This key's requests are isolated, for which the router needs kvasir.access.isolation-secret."));
    }
    String own = body.path(field).asText("");
    String salt = salts.salt(group, own.isEmpty() ? null : own);
    body.put(field, salt);
    return new Salt(field, salt);
  }

  /**
   * Checks that a request can be isolated: what is put into a body is put between its bytes as UTF-8.
   *
   * @throws ApiException when the caller's requests are salted, and this one is JSON in another encoding
   */
  void check(Caller caller, ApiRequest request, byte[] body) throws ApiException {
    if (caller.cacheGroup() != null && request.body() != null && !JsonMembers.isUtf8(body)) {
      throw new ApiException(ApiError.of(400, "invalid_json", "The request body is not in UTF-8. Send it as UTF-8."));
    }
  }

  /**
   * How a caller's request becomes a chat, which engines take a salt of, where they take none in requests to its API;
   * null where it stays as it is. Messages always do: engines of today take one, but one of another version may start
   * behind the same address.
   *
   * @throws ApiException when no chat can be made of it
   */
  @Nullable Translation translation(Caller caller, ApiPath api, byte[] body, ObjectNode tree, String model)
      throws ApiException {
    if (caller.cacheGroup() == null || !needsChat(api, model)) {
      return null;
    }
    ClientRequest request = new ClientRequest(api.path(), JsonMembers.of(body));
    String unfit = api == ApiPath.RESPONSES ? request.unfitResponse() : null;
    if (unfit != null) {
      throw new ApiException(ApiError.of(400, "not_isolated",
          ("This key's requests are isolated, which engines of %s cannot do in /v1/responses, and no chat can serve"
              + " this one (%s). Send all of the conversation in input, and no tools of the engine's own.")
              .formatted(model, unfit)));
    }
    try {
      return conversion.translation(request, model, tree);
    } catch (IllegalArgumentException refused) {
      throw new ApiException(ApiError.of(400, "invalid_request", String.valueOf(refused.getMessage())));
    }
  }

  private boolean needsChat(ApiPath api, String model) {
    return api == ApiPath.MESSAGES || (api == ApiPath.RESPONSES && !conversion.areResponsesSalted(model));
  }

  private static @Nullable String field(ApiPath api) {
    return switch (api) {
      case CHAT, CHAT_BATCH, COMPLETIONS, RESPONSES, EMBEDDINGS, RERANK, SCORING, TOKENS -> FIELD;
      case GENERATE -> SGLANG_FIELD;
      case MESSAGES, COUNT_TOKENS, TOKENIZE, DETOKENIZE, RENDERING, MEDIA, REALTIME, STORED_RESPONSE, OTHER -> null;
    };
  }
}
