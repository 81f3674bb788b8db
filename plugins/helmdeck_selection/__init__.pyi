# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_selection.catalogs.files import CatalogWarning as CatalogWarning
from helmdeck_selection.catalogs.files import load_catalog_file as load_catalog_file
from helmdeck_selection.catalogs.shapes import read_catalog as read_catalog
from helmdeck_selection.lexical.index.fields import input_properties as input_properties
from helmdeck_selection.lexical.index.fields import keyword_phrases as keyword_phrases
from helmdeck_selection.lexical.index.fields import name_words as name_words
from helmdeck_selection.lexical.index.fields import required_inputs as required_inputs
from helmdeck_selection.lexical.index.fields import step_packs as step_packs
from helmdeck_selection.lexical.scores.companions import Companions as Companions
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex as LexicalIndex
from helmdeck_selection.meaning.acts import ActModel as ActModel
from helmdeck_selection.meaning.acts import DialogueAct as DialogueAct
from helmdeck_selection.meaning.acts import act_model as act_model
from helmdeck_selection.meaning.model import MeaningModel as MeaningModel
from helmdeck_selection.meaning.model import meaning_model as meaning_model
from helmdeck_selection.meaning.model import similarity as similarity
