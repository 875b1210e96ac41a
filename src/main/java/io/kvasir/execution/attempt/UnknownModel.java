package io.kvasir.execution.attempt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.ApiPath;
import java.io.IOException;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Engines' answers that they do not serve a request's model, or not its API. Requests go only to workers whose pod was
 * said to serve both, so it is the worker that is not what it should be; another one may be.
 */
final class UnknownModel {
  private static final int NOT_FOUND = 404;
  private static final int BAD_REQUEST = 400;
  /** Errors are shorter; what is longer is not looked at. */
  private static final int MAX_BYTES = 64 << 10;
  /**
   * The beginning of a sentence about the model itself, perhaps behind the name of an exception. It gives back none of
   * its words, as a matcher that may do so takes stack for each.
   */
  private static final Pattern SUBJECT = Pattern.compile(
      "(?:[\\w.]+: )?(?:there is |could not find |cannot find |unable to find |no |such |unknown |the |this "
          + "|requested )*+(?:model|lora|adapter)\\b");
  private static final JsonMapper JSON = new JsonMapper();

  private UnknownModel() {}

  /** Whether an answer may say so, so that its body has to be looked at. */
  static boolean isPossible(int status) {
    return status == NOT_FOUND || status == BAD_REQUEST;
  }

  /**
   * Whether an answer says so. What a client has referred to may be unknown, too, such as a stored response: that is
   * the client's fault, and as its words may be part of such an answer, only an answer that begins with the model
   * counts. A 404 without words is the worker's only where every engine has the path.
   *
   * @param target of the request: path and query
   */
  static boolean isReported(int status, byte[] body, String target) {
    if (!isPossible(status) || body.length > MAX_BYTES) {
      return false;
    }
    JsonNode error = error(body);
    String message = text(error, "message").isEmpty() ? text(error, "detail") : text(error, "message");
    String words = message.toLowerCase(Locale.ROOT);
    boolean names = SUBJECT.matcher(words).lookingAt();
    if (text(error, "code").equals("model_not_found")) {
      return true;
    }
    return status == NOT_FOUND
        ? names || (everyEngineHas(target) && (words.isEmpty() || words.equals("not found")))
        : names && (words.contains("does not exist") || words.contains("not found") || words.contains("not loaded"));
  }

  private static boolean everyEngineHas(String target) {
    int query = target.indexOf('?');
    ApiPath api = ApiPath.at(query < 0 ? target : target.substring(0, query));
    return api == ApiPath.CHAT || api == ApiPath.COMPLETIONS;
  }

  private static JsonNode error(byte[] body) {
    try {
      JsonNode tree = JSON.readTree(body);
      return tree.path("error").isObject() ? tree.path("error") : tree;
    } catch (IOException e) {
      return JSON.missingNode();
    }
  }

  private static String text(JsonNode error, String name) {
    return error.path(name).asText("").strip();
  }
}
