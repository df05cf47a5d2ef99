/** The fields of an entry: from its schema, the channels of a sensor, and choices of what there is. */
import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import {
  type Control,
  type FaultPlaces,
  type FormContext,
  type FormField,
  resolved,
} from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { channelsControl } from "./setup-channels.ts";
import { type ChoiceControl, choiceControl, choicesListControl } from "./setup-choice-control.ts";
import { offerOf } from "./setup-choices.ts";
import { objectControl } from "./setup-form.ts";
import type { ListView } from "./setup-list.ts";
import { ownWords } from "./setup-words.ts";

export class EntryFields {
  readonly root: HTMLElement;
  readonly #view: SetupView;
  readonly #list: ListView;
  readonly #before: JsonObject | null;
  readonly #site: JsonObject;
  readonly #choices = new Set<ChoiceControl>();
  readonly #control: Control;
  #isBuilt = false;
  #kindsChanged: () => void = () => {};

  /** @param before as it is in the file; null for a new one @param site the site file, in which the choices are */
  constructor(
    view: SetupView,
    list: ListView,
    before: JsonObject | null,
    site: JsonObject,
    places: FaultPlaces,
  ) {
    this.#view = view;
    this.#list = list;
    this.#before = before;
    this.#site = site;
    const whole = view.schemas[list.part];
    const context: FormContext = {
      whole,
      places,
      words: (path) => ownWords(list.one, path),
      special: (field, isRequired) =>
        list.one === "sensor" && field.path === "channels"
          ? this.#channels(field)
          : this.#choice(field, isRequired),
    };
    const { word: name, first } = list;
    const schema = resolved({ $ref: `#/definitions/${list.one}` }, whole);
    this.#control = objectControl(
      { schema, value: before ?? list.initial ?? {}, path: "", name, context },
      { isBare: true, first },
    );
    this.root = this.#control.root;
    this.#isBuilt = true;
  }

  read(): JsonObject {
    const made = this.#control.read();
    return isJsonObject(made) ? made : {};
  }

  /** What depends on the rest of the form. */
  follow(): void {
    for (const choice of this.#choices) if (choice.root.isConnected) choice.refresh();
  }

  kindsChanged(): void {
    this.#kindsChanged();
  }

  #channels(field: FormField): Control {
    const before = this.#before?.["kinds"];
    let isFirst = true;
    // The form is not on the page yet when its parts are created.
    const channels = channelsControl(field, () => {
      const boxes = this.#view.place.querySelectorAll<HTMLInputElement>(
        '[data-path="kinds"]:checked',
      );
      const now = isFirst && Array.isArray(before) ? before : [...boxes].map(({ value }) => value);
      isFirst = false;
      return now;
    });
    this.#kindsChanged = channels.kindsChanged;
    return channels;
  }

  /** Null for a member that is typed, and where there is nothing to choose from. */
  #choice(field: FormField, isRequired: boolean): Control | null {
    const entry = () => (this.#isBuilt ? this.read() : (this.#before ?? {}));
    const known = { model: this.#view.model, site: this.#site, entry };
    const offer = offerOf(this.#list.one, field.path, known);
    if (offer === null) return null;
    // Values depend on what is chosen above them.
    if (offer().length === 0 && !/\.values?$/.test(field.path)) return null;
    const { schema, context } = field;
    const items = schema.items === undefined ? null : resolved(schema.items, context.whole);
    const isNumber = (items ?? schema).type === "integer";
    const control =
      items === null
        ? choiceControl(field, isRequired, offer, isNumber)
        : choicesListControl(field, offer, isNumber);
    this.#choices.add(control);
    return control;
  }
}
