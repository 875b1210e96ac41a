/**
 * What a running engine is, asked over HTTP: its kind and version, its models, its KV cache, how it publishes the
 * cache's events and its load and hands KV blocks over, and for all that it does not tell the flag or line that would.
 *
 * <table>
 * <caption>From an engine's address to the settings of its pod</caption>
 * <tr><th>Class</th><th>What it does or is</th></tr>
 * <tr><td>{@link io.kvasir.engines.EngineAddress}</td><td>where an engine is asked</td></tr>
 * <tr><td>{@link io.kvasir.engines.EngineClient}</td><td>asks there, for each {@code EnginePage}</td></tr>
 * <tr><td>{@code EnginePages}</td><td>what came, unread; its kind and version can be seen from it, which are the
 *     engine's {@link io.kvasir.engines.EngineIdentity}</td></tr>
 * <tr><td>{@code PageReader}</td><td>reads them, as the engine's kind has them</td></tr>
 * <tr><td>{@link io.kvasir.engines.EngineDescription}</td><td>what the engine <i>tells</i>: {@link
 *     io.kvasir.engines.EventPublishing} and {@link io.kvasir.engines.LoadPublishing} are how it says that it
 *     publishes</td></tr>
 * <tr><td>{@link io.kvasir.engines.EngineSurvey}</td><td>has all of that done, and tries what the engine does not tell
 *     </td></tr>
 * <tr><td>{@link io.kvasir.engines.SurveyedEngine}</td><td>what was <i>found</i>: {@link
 *     io.kvasir.engines.EventOrigin} and {@link io.kvasir.engines.LoadOrigin} are where the router takes these
 *     from</td></tr>
 * <tr><td>{@link io.kvasir.engines.PodSettings}</td><td>the same as settings of the engine's pod</td></tr>
 * </table>
 *
 * <p>Where a model's files are on this machine its {@link io.kvasir.engines.ModelSearch} finds.
 *
 * <p>Asking changes nothing in an engine, generates nothing, and takes nothing that another reader is to have:
 * TensorRT-LLM's events and statistics are given once, and are left alone.
 */
@NullMarked
package io.kvasir.engines;

import org.jspecify.annotations.NullMarked;
