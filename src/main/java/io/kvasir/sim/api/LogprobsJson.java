package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.text.TokenLogprobs;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Log probabilities in the shapes of the APIs, as vLLM writes them.
 *
 * @param source of the values
 * @param top how many the client requested for each token beside its own
 * @param asIds whether tokens are written as {@code token_id:7} and not as text
 */
record LogprobsJson(TokenLogprobs source, int top, boolean asIds) {
  /** {@code logprobs} of a chat's choice, for tokens that begin at a place of the answer. */
  ObjectNode chat(int[] tokens, int place) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.set("content", content(tokens, place));
    return json;
  }

  /** The tokens with their values and those of others, as chats and responses have them. */
  ArrayNode content(int[] tokens, int place) {
    ArrayNode content = JsonNodeFactory.instance.arrayNode();
    for (int i = 0; i < tokens.length; i++) {
      List<TokenLogprobs.Candidate> candidates = source.at(tokens[i], place + i, top);
      ObjectNode one = content.addObject();
      put(one, candidates.getFirst());
      ArrayNode others = one.putArray("top_logprobs");
      candidates.stream().limit(top).forEach(candidate -> put(others.addObject(), candidate));
    }
    return content;
  }

  private void put(ObjectNode json, TokenLogprobs.Candidate candidate) {
    json.put("token", name(candidate)).put("logprob", candidate.logprob());
    ArrayNode bytes = json.putArray("bytes");
    for (byte one : candidate.text().getBytes(StandardCharsets.UTF_8)) {
      bytes.add(one & 0xff);
    }
  }

  /**
   * {@code logprobs} of a text completion's choice.
   *
   * @param prompt tokens before the answer's that are told too, the first without a value; null for none
   * @param offset characters of the choice before the tokens
   */
  ObjectNode completion(int @Nullable [] prompt, int[] tokens, int place, int offset) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    ArrayNode offsets = json.putArray("text_offset");
    ArrayNode values = json.putArray("token_logprobs");
    ArrayNode names = json.putArray("tokens");
    ArrayNode tops = json.putArray("top_logprobs");
    int at = offset;
    int[] before = prompt == null ? new int[0] : prompt;
    for (int i = 0; i < before.length + tokens.length; i++) {
      boolean isPrompts = i < before.length;
      int token = isPrompts ? before[i] : tokens[i - before.length];
      List<TokenLogprobs.Candidate> candidates = source.at(token, isPrompts ? i : place + i - before.length, top);
      String name = name(candidates.getFirst());
      offsets.add(at);
      names.add(name);
      at += name.length();
      if (isPrompts && i == 0) {
        values.addNull();
        tops.addNull();
        continue;
      }
      values.add(candidates.getFirst().logprob());
      ObjectNode all = tops.addObject();
      candidates.forEach(candidate -> all.put(name(candidate), candidate.logprob()));
    }
    return json;
  }

  /** Characters that tokens are written with. */
  int length(int[] tokens) {
    int length = 0;
    for (int token : tokens) {
      length += name(source.at(token, 0, 0).getFirst()).length();
    }
    return length;
  }

  /** {@code prompt_logprobs}: of each of a prompt's tokens but the first. */
  ArrayNode prompt(int[] prompt) {
    ArrayNode json = JsonNodeFactory.instance.arrayNode();
    for (int i = 0; i < prompt.length; i++) {
      if (i == 0) {
        json.addNull();
        continue;
      }
      ObjectNode all = json.addObject();
      for (TokenLogprobs.Candidate candidate : source.at(prompt[i], i, top)) {
        all.putObject(Integer.toUnsignedString(candidate.token()))
            .put("logprob", candidate.logprob())
            .put("rank", candidate.rank())
            .put("decoded_token", candidate.text());
      }
    }
    return json;
  }

  private String name(TokenLogprobs.Candidate candidate) {
    return asIds ? "token_id:" + Integer.toUnsignedString(candidate.token()) : candidate.text();
  }
}
