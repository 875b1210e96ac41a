package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.execution.Call;
import io.kvasir.execution.TokenCounter;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.PreparationLimiter.OverloadException;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.Prompt;
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

  /**
   * A prompt whose tokens are known.
   *
   * @param ids its tokens by the model's own tokenizer; null where that is not what it was prepared by
   */
  private record Tokenised(Prompt prompt, int @Nullable [] ids) {}

  @Override
  public TokenCount count(CutStream stream) {
    Tokenised begun = tokenised(stream.begun(), stream.begun().http().body());
    Tokenised rest = begun == null ? null : tokenised(stream.begun(), stream.rest());
    if (begun == null || rest == null || begun.prompt().mode() != rest.prompt().mode()) {
      return new TokenCount.Unknown();
    }
    int[] first = begun.ids();
    int[] all = rest.ids();
    if (first != null && all != null) {
      return continues(first, all, stream)
          ? new TokenCount.Exact(all.length - first.length, all.length)
          : new TokenCount.Different();
    }
    // Only the sum is known: it shows that every event had one token, or that some had more.
    int added = rest.prompt().tokens() - begun.prompt().tokens();
    int counted = counted(stream.pieces(), stream.blanks());
    return counted > added || !continues(begun.prompt(), rest.prompt()) ? new TokenCount.Different()
        : counted == added ? new TokenCount.Exact(added, rest.prompt().tokens())
        : new TokenCount.Unknown();
  }

  /** The prompt of a request, null when its tokens are not known. */
  private @Nullable Tokenised tokenised(Call call, byte[] body) {
    Api api = api(call.http().target());
    if (api == null) {
      return null;
    }
    try (Permit permit = prompts.limiter().acquire(body.length, Cancellation.NONE)) {
      JsonNode json = JSON.readTree(body);
      PromptRequest request = new PromptRequest(api, call.decision().model(), json, true, null);
      Prompt prompt = prompts.prepare(request, permit);
      boolean whole =
          prompt.reason() == PromptReason.AS_CONFIGURED || prompt.reason() == PromptReason.NO_PARITY;
      return !whole ? null : switch (prompt.mode()) {
        case EXACT -> new Tokenised(prompt, prompts.tokens(request, permit::close));
        case ENGINE -> new Tokenised(prompt, null);
        case TEXT, NONE -> null;
      };
    } catch (IOException | OverloadException | CancellationException unknown) {
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private static @Nullable Api api(String target) {
    int query = target.indexOf('?');
    return switch (ApiPath.at(query < 0 ? target : target.substring(0, query))) {
      case CHAT -> Api.CHAT;
      case COMPLETIONS -> Api.COMPLETIONS;
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
  private boolean continues(int[] begun, int[] all, CutStream stream) {
    if (!hasAt(all, 0, begun)) {
      return false;
    }
    int kept = length(stream.pieces()) - stream.blanks();
    int at = begun.length;
    for (String piece : stream.pieces()) {
      int length = Math.clamp(kept, 0, piece.length());
      int[] tokens = textTokens(stream, piece.substring(0, length));
      // The blanks behind it have to be tokens of their own.
      if (!hasAt(all, at, tokens) || (length < piece.length() && !hasAt(textTokens(stream, piece), 0, tokens))) {
        return false;
      }
      at += tokens.length;
      kept -= length;
    }
    return at == all.length;
  }

  private int[] textTokens(CutStream stream, String text) {
    int[] tokens = prompts.textTokens(stream.begun().decision().model(), text);
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
