package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.execution.TokenCounter;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.PreparationLimiter.OverloadException;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptReason;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.Prompts;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Counts the tokens of streams that were cut by preparing two prompts: the client's, and that of the request for the
 * rest. By the model's own tokenizer the second has to be the first and behind it the tokens of the events' texts,
 * tokenised one by one; of an engine's tokenizer the blocks and the numbers are compared. Tokens that a model generated
 * otherwise than its tokenizer writes the text, a prompt whose last word went on in the answer, or a template that puts
 * something before an assistant's message, show as a difference. Thread-safe.
 */
public final class PromptTokenCounter implements TokenCounter {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Prompts prompts;

  /** A counter for the models of these prompts. */
  public PromptTokenCounter(Prompts prompts) {
    this.prompts = prompts;
  }

  @Override
  public TokenCount count(CutStream stream, Cancellation client) {
    Api api = api(stream.begun().http().target());
    Api restApi = api(stream.target());
    byte[] body = stream.begun().http().body();
    if (api == null || restApi == null) {
      return new TokenCount.Unknown();
    }
    try (Permit permit = prompts.limiter().acquire((long) body.length + stream.rest().length, client)) {
      return count(stream, request(api, stream, body), request(restApi, stream, stream.rest()), permit, client);
    } catch (IOException | OverloadException | CancellationException unknown) {
      return new TokenCount.Unknown();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new TokenCount.Unknown();
    }
  }

  private static PromptRequest request(Api api, CutStream stream, byte[] body) throws IOException {
    return new PromptRequest(api, stream.begun().decision().model(), JSON.readTree(body), true, null);
  }

  private TokenCount count(
      CutStream stream, PromptRequest begun, PromptRequest rest, Permit permit, Cancellation client) {
    int[] first = prompts.ownTokens(begun, permit);
    requireClient(client);
    int[] all = first == null ? null : prompts.ownTokens(rest, permit);
    requireClient(client);
    if (first != null && all != null) {
      return continues(first, all, stream, permit, client)
          ? new TokenCount.Exact(all.length - first.length, all.length)
          : new TokenCount.Different();
    }
    Prompt one = prompts.prepare(begun, permit);
    if (!isByEngine(one)) {
      return new TokenCount.Unknown();
    }
    requireClient(client);
    Prompt both = prompts.prepare(rest, permit);
    return isByEngine(both) ? ofEngine(one, both, stream) : new TokenCount.Unknown();
  }

  private static boolean isByEngine(Prompt prompt) {
    boolean whole = prompt.reason() == PromptReason.AS_CONFIGURED || prompt.reason() == PromptReason.NO_PARITY;
    return whole && prompt.mode() == PromptMode.ENGINE;
  }

  /** Only the sum is known: it shows that every event had one token, or that some had more. */
  private static TokenCount ofEngine(Prompt begun, Prompt rest, CutStream stream) {
    int added = rest.tokens() - begun.tokens();
    int counted = counted(stream.pieces(), stream.blanks());
    return counted > added || !continues(begun, rest) ? new TokenCount.Different()
        : counted == added ? new TokenCount.Exact(added, rest.tokens())
        : new TokenCount.Unknown();
  }

  private static void requireClient(Cancellation client) {
    if (client.isCancelled()) {
      throw new CancellationException("the client has left");
    }
  }

  private static @Nullable Api api(String target) {
    return switch (ApiPath.of(target)) {
      case CHAT -> Api.CHAT;
      case COMPLETIONS -> Api.COMPLETIONS;
      case MESSAGES -> Api.MESSAGES;
      case null, default -> null;
    };
  }

  private static boolean continues(Prompt begun, Prompt rest) {
    long[] blocks = begun.chain().hashes();
    long[] all = rest.chain().hashes();
    return begun.chain().blockSize() == rest.chain().blockSize()
        && all.length >= blocks.length
        && Arrays.equals(blocks, 0, blocks.length, all, 0, blocks.length);
  }

  /** Whether the one prompt's tokens are those of the other and behind them those of the text without its blanks. */
  private boolean continues(int[] begun, int[] all, CutStream stream, Permit permit, Cancellation client) {
    if (!hasAt(all, 0, begun)) {
      return false;
    }
    int kept = length(stream.pieces()) - stream.blanks();
    int at = begun.length;
    for (String piece : stream.pieces()) {
      requireClient(client);
      int length = Math.clamp(kept, 0, piece.length());
      int[] tokens = textTokens(stream, piece.substring(0, length), permit);
      // The blanks behind it have to be tokens of their own.
      if (!hasAt(all, at, tokens)
          || (length < piece.length() && !hasAt(textTokens(stream, piece, permit), 0, tokens))) {
        return false;
      }
      at += tokens.length;
      kept -= length;
    }
    return at == all.length;
  }

  private int[] textTokens(CutStream stream, String text, Permit permit) {
    int[] tokens = prompts.textTokens(stream.begun().decision().model(), text, permit);
    // A model that is known no more: no prompt ends with such a token.
    return tokens == null ? new int[] {-1} : tokens;
  }

  private static boolean hasAt(int[] all, int at, int[] some) {
    return all.length - at >= some.length && Arrays.equals(all, at, at + some.length, some, 0, some.length);
  }

  private static int length(List<String> pieces) {
    return pieces.stream().mapToInt(String::length).sum();
  }

  /** The pieces that have more than the blanks at the end; -1 where those are not pieces of their own. */
  private static int counted(List<String> pieces, int blanks) {
    int kept = length(pieces) - blanks;
    int counted = 0;
    for (String piece : pieces) {
      if (kept > 0 && kept < piece.length()) {
        return -1;
      }
      counted += kept > 0 ? 1 : 0;
      kept = Math.max(0, kept - piece.length());
    }
    return counted;
  }
}
